// Stages 5 and 6, together: the budgets of the caller, and its allowance. They come before the body, so that a request beyond its limits
// takes no memory; where the cache may have the answer, behind it, because its answers count nothing (spec, Limits 9).

import type { Call } from '../call/call.ts';
import { Refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { HeldBody } from '../http/body-budget.ts';
import type { Exchange } from '../http/exchange.ts';
import { explain } from '../limits/rejection.ts';
import { type ConsumerAllowance, limitRefusal, targetRules } from '../routing/limit-refusal.ts';
import type { Route, Snapshot } from '../snapshot/snapshot.ts';
import { admit, type Rejected } from './admit.ts';
import type { Principal } from './authenticate.ts';
import { spentBudget } from './budget.ts';
import { foresee } from './foresee.ts';

/** A request that comes in. */
export interface Entering {
  readonly endpoint: { readonly isCounted: boolean };
  readonly exchange: Exchange;
  readonly snapshot: Snapshot;
  readonly principal: Principal | undefined;
  /** What it was admitted with. */
  consumer: ConsumerAllowance | undefined;
  /** What it asks for is known, although it is refused: its record says it. */
  noteAsked(call: Call): void;
  /** The body of a request that is refused. */
  noteBody(body: Buffer): void;
  /** Refuses with what it resolves to, or rejects with. */
  refuseWith(refusing: Promise<Refusal>): void;
}

type Parts = Pick<Gateway, 'budgets' | 'limiter' | 'metrics' | 'nowMs'>;

/** Before the body. False: it is refused, once a short body was read: the words may need it, and its record says what it asked for. */
export function enter(trip: Entering, held: HeldBody, parts: Parts): boolean {
  const refused = admitCaller(trip, parts);
  if (refused === undefined) return true;
  trip.refuseWith(foresee(refused, trip, held, parts));
  return false;
}

/** Behind the cache: where the request leads is known. Throws 429 `budget_exceeded` and `rate_limit_exceeded`. */
export function enterLate(trip: Entering, route: Route, parts: Parts): ConsumerAllowance {
  const rejected = admitCaller(trip, parts);
  if (trip.consumer !== undefined) return trip.consumer;
  if (rejected === undefined) throw new Error('a consumer that was admitted has no allowance');
  if (rejected instanceof Refusal) throw rejected;
  const { limiter, metrics, nowMs } = parts;
  const { rejection, matches, told } = rejected;
  if (!limiter.limitsTargets) throw limitRefusal(rejection, told, metrics);
  throw limitRefusal(explain(targetRules(route, limiter), matches, Math.floor(nowMs()), rejection), told, metrics);
}

/** Undefined: it is admitted. A Refusal: a budget is spent. */
function admitCaller(trip: Entering, parts: Parts): Rejected | Refusal | undefined {
  const { endpoint, snapshot, principal } = trip;
  const { limiter } = parts;
  if (principal === undefined) throw new Error('a request came in before its caller was known');
  const spent = endpoint.isCounted ? spentBudget(principal, parts) : undefined;
  if (spent !== undefined) return spent;
  const rules = endpoint.isCounted ? limiter.forUserPath(principal.shownPath) : limiter.unlimited;
  const admission = admit(rules, snapshot.toldLimits, parts);
  if (admission.lease === undefined) return admission;
  trip.consumer = admission;
  return undefined;
}
