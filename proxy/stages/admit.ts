// Stage 2: the consumer's allowance. One synchronous step: every user-path rule is checked, then all are taken from. It comes before
// the body, so that a request beyond its limits takes no memory, and is renewed when the body is there.
import type { Refusal } from '../errors.ts';
import type { ToldLimits } from '../limits/headers.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Matches } from '../limits/match.ts';
import { explain, type Rejection } from '../limits/rejection.ts';
import { renewLease } from '../limits/renew.ts';
import { reserveTokensSoon } from '../limits/reserve.ts';
import { followed } from '../pacing/slices.ts';
import { type ConsumerAllowance, limitRefusal, type WaitTally } from '../routing/limit-refusal.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import type { Answering, Expected } from './expect.ts';

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

/**
 * Takes one request from every one of the rules of a consumer, or from none when one is used up: `refusalOf` in enter.ts makes the
 * answer of that. A promise where the state store has to be asked for a rule that the fleet shares.
 */
export function admit(
  matches: Matches,
  told: ToldLimits,
  { limiter, nowMs }: AdmitParts,
): ConsumerAllowance | Rejected | Promise<ConsumerAllowance | Rejected> {
  const admission = limiter.admitSoon(matches, Math.floor(nowMs()), { rejectedAs: 'reject', wanted: 0 });
  return followed(admission, ({ lease, rejection }) =>
    lease === undefined ? { rejection, matches, told } : { lease, matches, told },
  );
}

/** A call that is known: where it may go, and what it will probably take. */
interface KnownCall<Place> {
  readonly targets: readonly Place[];
  /** The rules that count a call of a target. */
  readonly matchesOf: (target: Place) => Matches;
  /** Undefined: nothing is set aside for it. */
  readonly expected: Expected | undefined;
}

/**
 * The body was read: the request counts from now on. Throws 429 `rate_limit_exceeded` when it took so long that windows have no room for it
 * any more, or when they have none for the tokens that it will probably take; everything is given back then. Its wait suits the consumer and
 * some target of the route.
 */
export function renew(
  consumer: ConsumerAllowance,
  { route, expected }: { readonly route: Route; readonly expected: Expected | undefined },
  parts: AdmitParts & { readonly metrics: WaitTally },
): void | Promise<void> {
  const { limiter } = parts;
  const matchesOf = ({ upstream, model }: Target): Matches => limiter.forTarget(upstream.name, model);
  const known = { targets: route.targets, matchesOf, expected };
  return followed(renewLease(consumer.lease, consumer.matches, Math.floor(parts.nowMs())), (rejection) => {
    if (rejection !== undefined) throw refusalFor(consumer, known, rejection, parts);
    return reserve(consumer, known, parts);
  });
}

/** Sets tokens aside under the rules of the consumer; throws as `renew` does when they have no room. */
export function reserve<Place extends Answering>(
  consumer: ConsumerAllowance,
  known: KnownCall<Place>,
  parts: AdmitParts & { readonly metrics: WaitTally },
): void | Promise<void> {
  const { expected, targets } = known;
  const { lease, matches } = consumer;
  if (expected === undefined || !parts.limiter.countsTokens(matches)) return;
  const reserved = reserveTokensSoon(lease, matches, expected.most(targets), Math.floor(parts.nowMs()));
  return followed(reserved, (rejection) => {
    if (rejection !== undefined) throw refusalFor(consumer, known, rejection, parts);
  });
}

function refusalFor<Place extends Answering>(
  { matches, told }: ConsumerAllowance,
  { targets, matchesOf, expected }: KnownCall<Place>,
  before: Rejection,
  { metrics, nowMs }: AdmitParts & { readonly metrics: WaitTally },
): Refusal {
  const wanted = expected?.most(targets) ?? 0;
  const rules = targets.map(matchesOf);
  return limitRefusal(explain(rules, matches, Math.floor(nowMs()), { before, wanted }), told, metrics);
}
