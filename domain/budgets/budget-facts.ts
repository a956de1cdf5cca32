// The fields of a log line about a change of a budget: the budget in force before, and after.
import { authorFacts } from '../rules/authorship.ts';
import type { Budget } from './budget.ts';
import type { ManualBudget } from './manual-budget.ts';
import { dollarsOf } from './money.ts';

/** The declared budget and the operator's budget of one key; undefined where there is none. */
export interface BudgetPair {
  readonly declared: Budget | undefined;
  /** Not expired. */
  readonly manual: ManualBudget | undefined;
}

/** The members of the budget in force, named as in the listing, the amount in US dollars; null without a budget. */
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
