// What a log line says of a budget: in force before a change, and after it.
import { authorFacts } from '../rules/authorship.ts';
import type { Budget } from './budget.ts';
import type { ManualBudget } from './manual-budget.ts';
import { dollarsOf } from './money.ts';

/** The declared budget and that of an operator with one key, as far as there are such. */
export interface BudgetPair {
  readonly declared: Budget | undefined;
  /** Not expired. */
  readonly manual: ManualBudget | undefined;
}

/** The budget that counts of the two, in the words of the listing; null without both. */
export function budgetFacts({ declared, manual }: BudgetPair): object | null {
  const budget = manual ?? declared;
  if (budget === undefined) return null;
  return {
    source: manual === undefined ? 'config' : 'manual',
    per_child: budget.perChild,
    mode: budget.mode,
    amount: dollarsOf(budget.amount),
    ...(manual === undefined ? {} : authorFacts(manual)),
  };
}
