// Stage 2: the budgets of the caller, and its allowance. They come before the body, so that a request beyond its limits takes no memory; where
// the cache may have the answer, behind it, because its answers count nothing (spec, Limits 9).
import { onlyPath } from '../../domain/conditions/facts.ts';
import type { Call } from '../call/call.ts';
import { Refusal, refusal } from '../errors.ts';
import type { ModelRequest } from '../http/exchange.ts';
import { type Counting, rulesOfConsumer } from '../limits/counted-rules.ts';
import type { Limiter } from '../limits/limiter.ts';
import { explain } from '../limits/rejection.ts';
import { followed } from '../pacing/slices.ts';
import { type ConsumerAllowance, limitRefusal, targetRules, type WaitTally } from '../routing/limit-refusal.ts';
import type { Route, Snapshot } from '../snapshot/snapshot.ts';
import { admit, type Rejected } from './admit.ts';
import type { Principal } from './authenticate.ts';
import { type BudgetParts, spentBudget } from './budget.ts';
import { resolve } from './resolve.ts';

/** A request that comes in. */
interface Entering {
  readonly snapshot: Snapshot;
  readonly caller: Principal;
  /** The allowance that it was admitted with. */
  consumer: ConsumerAllowance | undefined;
}

export interface EnterParts extends BudgetParts {
  readonly limiter: Limiter;
  readonly metrics: WaitTally;
}

/** Undefined: the request is admitted. */
type Entered = Rejected | Refusal | undefined;

/** Undefined: the request is admitted. Else it holds nothing; a Refusal is 429 `budget_exceeded`. */
export function enter(
  trip: Entering,
  { rules, hasBudget }: { readonly rules: Counting; readonly hasBudget: boolean },
  parts: EnterParts,
): Entered | Promise<Entered> {
  const { snapshot, caller } = trip;
  return followed(hasBudget ? spentBudget(caller, parts) : undefined, (spent): Entered | Promise<Entered> => {
    if (spent !== undefined) return spent;
    const matches = rulesOfConsumer(rules, caller.shownPath, parts.limiter);
    return followed(admit(matches, snapshot.toldLimits, parts), (admission) => {
      if (admission.lease === undefined) return admission;
      trip.consumer = admission;
      return undefined;
    });
  });
}

/**
 * The result of a step before the body, when it is there. Nothing of the body is read meanwhile; throws the Refusal of a client that has left,
 * or whose body is broken.
 */
export async function whileItComes<Result>(exchange: ModelRequest, step: Promise<Result>): Promise<Result> {
  // A trip that waits by itself is told what happens meanwhile.
  if (exchange.waiting !== undefined) return step;
  let broken: Refusal | undefined;
  exchange.waiting = {
    gone() {},
    broken(refused) {
      broken = refused;
    },
  };
  let result: Result;
  try {
    result = await step;
  } finally {
    exchange.waiting = undefined;
  }
  if (exchange.gone) throw refusal('client_left');
  if (broken !== undefined) throw broken;
  return result;
}

/**
 * The refusal of a request that did not enter. The wait of a 429 `rate_limit_exceeded` (design section 4, Retry-After) suits the consumer and
 * some target, if rules limit targets and it is known what the request asks for; else the consumer alone.
 */
export function refusalOf(
  rejected: Rejected | Refusal,
  asked: Pick<Call, 'model' | 'routingMember'> | undefined,
  trip: Entering,
  { limiter, metrics, nowMs }: EnterParts,
): Refusal {
  if (rejected instanceof Refusal) return rejected;
  const { rejection, matches, told } = rejected;
  const route = asked === undefined || !limiter.limitsTargets ? undefined : routeOf(asked, trip);
  if (route === undefined) return limitRefusal(rejection, told, metrics);
  return limitRefusal(
    explain(targetRules(route, limiter), matches, Math.floor(nowMs()), { before: rejection }),
    told,
    metrics,
  );
}

/** Where the request would lead. Undefined when it would be refused for another reason, too. */
function routeOf(asked: Pick<Call, 'model' | 'routingMember'>, { snapshot, caller }: Entering): Route | undefined {
  try {
    return resolve(asked, snapshot, caller.allowedModels, onlyPath(caller.userPath));
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
