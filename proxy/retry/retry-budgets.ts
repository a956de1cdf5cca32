// Which budget a request's further calls are paid from: that of its alias, or that of the process.
import type { Route } from '../snapshot/snapshot.ts';
import { RetryBudget, usualShare } from './retry-budget.ts';

/** So many aliases with a budget of their own are remembered; forgetting them lets each have its floor again. */
const mostRemembered = 10_000;

/** Why a call is made beyond the first of a request: another target, the same once more, or the same because nothing was sent. */
export const retryKinds = ['failover', 'retry', 'reconnect'] as const;
export type RetryKind = (typeof retryKinds)[number];

/** The clock is an argument, in milliseconds. */
export class RetryBudgets {
  /** Calls beyond the first since the start. */
  readonly counts: Record<RetryKind, number> = { failover: 0, retry: 0, reconnect: 0 };
  /** Calls that no budget was left for. */
  refused = 0;
  readonly #process = new RetryBudget();
  readonly #own = new Map<string, RetryBudget>();

  /** A request begins its first call. */
  note(route: Pick<Route, 'name' | 'policy'>, nowMs: number): void {
    this.#of(route).note(nowMs);
  }

  /** Whether it may make one call more; it is counted then. */
  take(route: Pick<Route, 'name' | 'policy'>, kind: RetryKind, nowMs: number): boolean {
    const isAllowed = this.#of(route).take(route.policy.budget ?? usualShare, nowMs);
    if (isAllowed) this.counts[kind] += 1;
    else this.refused += 1;
    return isAllowed;
  }

  #of({ name, policy }: Pick<Route, 'name' | 'policy'>): RetryBudget {
    if (policy.budget === undefined) return this.#process;
    let own = this.#own.get(name);
    if (own === undefined) {
      if (this.#own.size >= mostRemembered) this.#own.clear();
      own = new RetryBudget();
      this.#own.set(name, own);
    }
    return own;
  }
}
