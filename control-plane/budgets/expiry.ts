// Removes the documents of expired budgets within a second, and tells the log of each. When none expires soon, it reads the store once a minute.

import { type Budget, budgetTitle } from '../../domain/budgets/budget.ts';
import { budgetFacts } from '../../domain/budgets/budget-facts.ts';
import type { ManualBudget } from '../../domain/budgets/manual-budget.ts';
import { authorFacts, expiryMs } from '../../domain/rules/authorship.ts';
import type { Log } from '../../plane/log-events.ts';
import { singleFlight } from '../../store/single-flight.ts';

const checkMs = 1_000;
const restMs = 60_000;

export interface BudgetExpiryParts {
  /** Those of operators in force here, expired ones included. */
  readonly manual: () => readonly ManualBudget[];
  readonly config: () => readonly Budget[];
  /** Removes what has ended. True: something was changed. Rejects with `StoreUnavailable`. */
  readonly tidy: (nowMs: number) => Promise<boolean>;
  /** Budgets have ended. */
  readonly ended: () => void;
  readonly nowMs: () => number;
  readonly log: Pick<Log, 'info'>;
}

/** Begins at once. After a failure of the store it tries again. */
export function removeExpiredBudgets(parts: BudgetExpiryParts): { close(): void } {
  let toldMs = Number.NEGATIVE_INFINITY;
  let nextAtMs = 0;

  async function check(): Promise<void> {
    const now = Math.floor(parts.nowMs());
    const manual = parts.manual();
    const ended = manual.filter((each) => expiryMs(each) <= now);
    tell(ended, now);
    if (ended.length === 0 && now < nextAtMs) return;
    const isChanged = await parts.tidy(now).catch(() => true);
    nextAtMs = isChanged ? now : now + restMs;
  }

  function tell(ended: readonly ManualBudget[], now: number): void {
    const fresh = ended.filter((each) => expiryMs(each) > toldMs);
    toldMs = now;
    for (const budget of fresh) {
      const declared = parts.config().find(({ key }) => key === budget.key);
      const before = budgetFacts({ declared, manual: budget });
      const after = budgetFacts({ declared, manual: undefined });
      parts.log.info(
        { about: `budget ${budgetTitle(budget)}`, before, after, ...authorFacts(budget) },
        'override expired',
      );
    }
    if (fresh.length > 0) parts.ended();
  }

  const checking = singleFlight(check);
  const timer = setInterval(() => void checking.join(), checkMs);
  return { close: () => clearInterval(timer) };
}
