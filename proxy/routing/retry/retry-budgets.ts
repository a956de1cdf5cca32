// Which budget a request's further calls are paid from: that of its alias, or that of the process. Hedges have one more of their own.
import type { Route } from '../../snapshot/snapshot.ts';
import { RetryBudget, usualShare } from './retry-budget.ts';

/** The most aliases whose own budgets are kept; forgetting them lets each have its floor again. */
const mostRemembered = 10_000;

/** Further calls that are always allowed. Beyond them, hedges are a share of the requests to aliases that hedge (`HedgePlan.share`). */
const hedgeFloor = 2;

/** Why a call is made beyond the first of a request: another target, the same once more, the same because nothing was sent, another beside a slow one. */
export const retryKinds = ['failover', 'retry', 'reconnect', 'hedge'] as const;
export type RetryKind = (typeof retryKinds)[number];

type Payer = Pick<Route, 'source' | 'policy' | 'hedge'>;

/** The clock is an argument, in milliseconds. */
export class RetryBudgets {
  /** Calls beyond the first since the start. */
  readonly counts: Record<RetryKind, number> = { failover: 0, retry: 0, reconnect: 0, hedge: 0 };
  /** Calls that no budget was left for; hedges, which can be done without, do not count. */
  refused = 0;
  readonly #process = new RetryBudget();
  readonly #own = new Map<string, RetryBudget>();
  readonly #hedges = new RetryBudget(hedgeFloor);

  /** A request begins its first call. */
  note(route: Payer, nowMs: number): void {
    this.#of(route).note(nowMs);
    if (route.hedge) this.#hedges.note(nowMs);
  }

  /** Whether it could make one call more. */
  allows(route: Payer, kind: RetryKind, nowMs: number): boolean {
    const share = route.policy.budget ?? usualShare;
    if (!this.#of(route).allows(share, nowMs)) return false;
    return kind !== 'hedge' || this.#hedges.allows(route.hedge?.share ?? 0, nowMs);
  }

  /** Whether it may make one call more; it is counted then. */
  take(route: Payer, kind: RetryKind, nowMs: number): boolean {
    const isHedge = kind === 'hedge';
    const isAllowed = this.allows(route, kind, nowMs);
    if (isAllowed) {
      this.#of(route).spend(nowMs);
      if (isHedge) this.#hedges.spend(nowMs);
      this.counts[kind] += 1;
    } else if (!isHedge) this.refused += 1;
    return isAllowed;
  }

  #of({ source, policy }: Payer): RetryBudget {
    if (policy.budget === undefined) return this.#process;
    let own = this.#own.get(source);
    if (own === undefined) {
      if (this.#own.size >= mostRemembered) this.#own.clear();
      own = new RetryBudget();
      this.#own.set(source, own);
    }
    return own;
  }
}
