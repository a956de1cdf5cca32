// Which budget a request's further calls are paid from: that of its alias, or that of the process. A hedge has one more of its own.
import type { Route } from '../snapshot/snapshot.ts';
import { RetryBudget, usualShare } from './retry-budget.ts';

/** So many aliases with a budget of their own are remembered; forgetting them lets each have its floor again. */
const mostRemembered = 10_000;

/** By definition one answer of twenty is slower than the 95th percentile. When more are, the target has become slow, and hedging would only double its load. */
const hedgeShare = 0.05;
const hedgeFloor = 2;

/** Why a call is made beyond the first of a request: another target, the same once more, the same because nothing was sent, another beside a slow one. */
export const retryKinds = ['failover', 'retry', 'reconnect', 'hedge'] as const;
export type RetryKind = (typeof retryKinds)[number];

type Payer = Pick<Route, 'name' | 'policy' | 'hedge'>;

/** The clock is an argument, in milliseconds. */
export class RetryBudgets {
  /** Calls beyond the first since the start. */
  readonly counts: Record<RetryKind, number> = { failover: 0, retry: 0, reconnect: 0, hedge: 0 };
  /** Calls that no budget was left for; hedges, which can be done without, do not count. */
  refused = 0;
  readonly #process = new RetryBudget();
  readonly #own = new Map<string, RetryBudget>();
  readonly #hedges = new Map<string, RetryBudget>();

  /** A request begins its first call. */
  note(route: Payer, nowMs: number): void {
    this.#of(route).note(nowMs);
    if (route.hedge) remembered(this.#hedges, route.name, hedgeFloor).note(nowMs);
  }

  /** Whether it may make one call more; it is counted then. */
  take(route: Payer, kind: RetryKind, nowMs: number): boolean {
    const isHedge = kind === 'hedge';
    if (isHedge && !remembered(this.#hedges, route.name, hedgeFloor).take(hedgeShare, nowMs)) return false;
    const isAllowed = this.#of(route).take(route.policy.budget ?? usualShare, nowMs);
    if (isAllowed) this.counts[kind] += 1;
    else if (!isHedge) this.refused += 1;
    return isAllowed;
  }

  #of({ name, policy }: Payer): RetryBudget {
    return policy.budget === undefined ? this.#process : remembered(this.#own, name, undefined);
  }
}

function remembered(budgets: Map<string, RetryBudget>, name: string, floor: number | undefined): RetryBudget {
  let own = budgets.get(name);
  if (own === undefined) {
    if (budgets.size >= mostRemembered) budgets.clear();
    own = new RetryBudget(floor);
    budgets.set(name, own);
  }
  return own;
}
