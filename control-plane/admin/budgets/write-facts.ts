// What the log says of a write to a budget: the budget in force before and after it. Pure.

import { budgetFacts } from '../../../domain/budgets/budget-facts.ts';
import { readManualBudget } from '../../../domain/budgets/manual-budget.ts';
import { manualBudgets } from '../../../domain/documents/kinds.ts';
import { authorFacts } from '../../../domain/rules/authorship.ts';
import type { Change } from '../../../store/state/state-store.ts';
import type { KnownBudgets } from './changes.ts';

/**
 * Members for the line of a write to the budget `key`: `before` and `after` (null: none), and of the one that is written its reason, end and
 * author. None for a reset.
 */
export function budgetWriteFacts(known: KnownBudgets, changes: readonly Change[], key: string): object {
  const change = changes.find(({ kind, id }) => kind === manualBudgets.kind && id === key);
  if (change === undefined) return {};
  const declared = known.config.get(key);
  const next = change.body === undefined ? undefined : readManualBudget(key, change.body);
  const before = budgetFacts({ declared, manual: known.manual.get(key) });
  return { before, after: budgetFacts({ declared, manual: next }), ...(next === undefined ? {} : authorFacts(next)) };
}
