// Stage 2: the consumer's allowance. One synchronous step: every user-path rule is checked, then all are taken from. It comes before
// the body, so that a request beyond its limits takes no memory, and is renewed when the body is there.
import type { ToldLimits } from '../limits/headers.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Matches } from '../limits/match.ts';
import { explain, type Rejection } from '../limits/rejection.ts';
import { renewLease } from '../limits/renew.ts';
import { type ConsumerAllowance, limitRefusal, targetRules, type WaitTally } from '../routing/limit-refusal.ts';
import type { Route } from '../snapshot/snapshot.ts';

interface AdmitParts {
  readonly limiter: Limiter;
  /** Milliseconds of the gateway's clock. */
  readonly nowMs: () => number;
}

/** A request whose consumer is used up; it holds nothing. */
export interface Rejected {
  readonly lease?: undefined;
  readonly rejection: Rejection;
  readonly matches: Matches;
  readonly told: ToldLimits;
}

/** Takes one request from every one of the rules of a consumer, or from none when one is used up: `refusalOf` in enter.ts makes the answer of that. */
export function admit(
  matches: Matches,
  told: ToldLimits,
  { limiter, nowMs }: AdmitParts,
): ConsumerAllowance | Rejected {
  const { lease, rejection } = limiter.admit(matches, Math.floor(nowMs()), 'reject');
  return lease === undefined ? { rejection, matches, told } : { lease, matches, told };
}

/**
 * The body was read: the request counts from now on. Throws 429 `rate_limit_exceeded` when it took so long that windows have no room for it
 * any more; everything is given back then. Its wait suits the consumer and some target of the route.
 */
export function renew(
  { lease, matches, told }: ConsumerAllowance,
  route: Route,
  { limiter, metrics, nowMs }: AdmitParts & { readonly metrics: WaitTally },
): void {
  const now = Math.floor(nowMs());
  const rejection = renewLease(lease, matches, now);
  if (rejection === undefined) return;
  throw limitRefusal(explain(targetRules(route, limiter), matches, now), told, metrics);
}
