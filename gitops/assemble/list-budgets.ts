// Lists the budgets of a config, because metrics name a budget by its id alone.
import { type Budget, type BudgetLists, compileBudgets } from '../../domain/budgets/budget.ts';
import { dollarsOf } from '../../domain/budgets/money.ts';
import { budgetPeriodLabel } from '../../domain/budgets/period.ts';

/** A budget in the names of the admin API. */
export interface ListedBudget {
  id: string;
  scope: Budget['scope'];
  subject: string;
  period_label: string;
  period_seconds: number;
  /** US dollars. */
  amount: number;
  per_child: boolean;
  mode: Budget['mode'];
  /** For example `25 US dollars daily, for each child`. */
  words: string;
}

/** Every budget, in the order of the listing. */
export function listBudgets(budgets: BudgetLists): ListedBudget[] {
  return compileBudgets(budgets).map(({ id, scope, subject, periodSeconds, amount, perChild, mode }) => {
    const label = budgetPeriodLabel(periodSeconds);
    const period = label === `${periodSeconds}s` ? `per ${label}` : label;
    return {
      id,
      scope,
      subject,
      period_label: label,
      period_seconds: periodSeconds,
      amount: dollarsOf(amount),
      per_child: perChild,
      mode,
      words: `${dollarsOf(amount)} US dollars ${period}${perChild ? ', for each child' : ''}${mode === 'enforce' ? '' : `, ${mode}`}`,
    };
  });
}
