// Logs the budgets that operators have set but nothing enforces. Those of the configuration are reported when it is loaded.

import { budgetTitle } from '../../domain/budgets/budget.ts';
import { explainUnenforcedBudget, type MergedBudget } from '../../domain/budgets/merge-budgets.ts';
import type { Log } from '../../plane/log-events.ts';

/** The most lines; the listing shows every budget. */
const mostSaid = 20;

/** Logs a line for each template without its entitlement, and one for all budgets without usage, when that differs from the last time. */
export function createBudgetWarnings(
  log: Pick<Log, 'warn' | 'error'>,
): (budgets: readonly MergedBudget[], areEnabled: boolean) => void {
  let said = '';
  return (budgets, areEnabled) => {
    const manual = areEnabled ? budgets.filter(({ source }) => source === 'manual') : [];
    const lines = manual
      .filter(({ obstacle }) => obstacle === 'not_entitled')
      .map((each) => `the budget ${budgetTitle(each)} is not enforced: ${explainUnenforcedBudget(each)}`);
    const withoutUsage = manual.some(({ obstacle }) => obstacle === 'no_usage')
      ? 'operators have set budgets, and nothing that is spent is recorded: USAGE_ENABLED is false, so no budget is enforced'
      : '';
    const now = [...lines, withoutUsage].join();
    if (now !== said) {
      for (const line of lines.slice(0, mostSaid)) log.error(line);
      if (lines.length > mostSaid)
        log.error(`${lines.length - mostSaid} more budgets are not enforced; the listing says why`);
      if (withoutUsage !== '') log.warn(withoutUsage);
    }
    said = now;
  };
}
