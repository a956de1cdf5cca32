// Stages 5 and 6, together: the budgets of the caller, and its allowance. They come before the body, so that a request beyond its limits
// takes no memory; where the cache may have the answer, behind it, because its answers count nothing (spec, Limits 9).
import type { HeldBody } from '../body-budget.ts';
import type { Exchange } from '../connection/exchange.ts';
import type { Refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { explain } from '../limits/rejection.ts';
import type { Route, Snapshot } from '../snapshot/snapshot.ts';
import { admit, type ConsumerAllowance, limitRefusal, type Rejected, targetRules } from './admit.ts';
import type { Principal } from './authenticate.ts';
import { checkBudgets } from './budget.ts';
import { foresee } from './foresee.ts';

/** A request that comes in. */
export interface Entering {
  readonly endpoint: { readonly isCounted: boolean };
  readonly exchange: Exchange;
  readonly snapshot: Snapshot;
  readonly principal: Principal | undefined;
  /** What it was admitted with. */
  consumer: ConsumerAllowance | undefined;
  /** Refuses with what it resolves to, or rejects with. */
  refuseWith(refusing: Promise<Refusal>): void;
}

type Parts = Pick<Gateway, 'budgets' | 'limiter' | 'metrics' | 'nowMs'>;

/** Before the body. False: it is refused, with words that may need the body. Throws 429 `budget_exceeded`. */
export function enter(trip: Entering, held: HeldBody, parts: Parts): boolean {
  const rejected = admitCaller(trip, parts);
  if (rejected === undefined) return true;
  const { exchange, snapshot, principal } = trip;
  const { allowedModels, userPath = '/' } = principal ?? {};
  trip.refuseWith(foresee(rejected, { exchange, snapshot, allowedModels, userPath, held }, parts));
  return false;
}

/** Behind the cache: where the request leads is known. Throws 429 `budget_exceeded` and `rate_limit_exceeded`. */
export function enterLate(trip: Entering, route: Route, parts: Parts): ConsumerAllowance {
  const rejected = admitCaller(trip, parts);
  if (trip.consumer !== undefined) return trip.consumer;
  if (rejected === undefined) throw new Error('a consumer that was admitted has no allowance');
  const { limiter, metrics, nowMs } = parts;
  const { rejection, matches, told } = rejected;
  if (!limiter.limitsTargets) throw limitRefusal(rejection, told, metrics);
  throw limitRefusal(explain(targetRules(route, limiter), matches, Math.floor(nowMs()), rejection), told, metrics);
}

/** Undefined: it is admitted. */
function admitCaller(trip: Entering, parts: Parts): Rejected | undefined {
  const { endpoint, snapshot, principal } = trip;
  const { limiter } = parts;
  if (principal === undefined) throw new Error('a request came in before its caller was known');
  if (endpoint.isCounted) checkBudgets(principal, parts);
  const rules = endpoint.isCounted ? limiter.forUserPath(principal.userPath) : limiter.unlimited;
  const admission = admit(rules, snapshot.toldLimits, parts);
  if (admission.lease === undefined) return admission;
  trip.consumer = admission;
  return undefined;
}
