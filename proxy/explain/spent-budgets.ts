// The budgets that a request would meet and that are used up, with who may see how much was spent.
import { dollarsOf } from '../../domain/budgets/money.ts';
import { budgetPeriodLabel } from '../../domain/budgets/period.ts';
import { timestamp } from '../../domain/timestamp.ts';
import type { BudgetsInForce } from '../budgets/budgets-in-force.ts';
import { budgetWaitSeconds } from '../stages/budget.ts';
import type { SpentBudget } from './explanation.ts';
import { countingOf, type Question, sees } from './question.ts';

/** None where nothing is counted. */
export function spentBudgets(
  userPath: string,
  question: Question,
  budgets: Pick<BudgetsInForce, 'covering'>,
): SpentBudget[] {
  if (countingOf(question) === 'nothing') return [];
  const { nowMs, key } = question;
  return budgets.covering(userPath, key?.labels, nowMs).map((verdict) => {
    const { id, scope, subject, effectiveSubject, perChild, mode, periodSeconds, amount, spent, endMs } = verdict;
    const isSeen = sees(question, scope === 'user_path' ? subject : undefined);
    return {
      id,
      scope,
      subject,
      effective_subject: effectiveSubject,
      per_child: perChild,
      mode,
      period_label: budgetPeriodLabel(periodSeconds),
      period_seconds: periodSeconds,
      period_end: timestamp(endMs),
      retry_after_seconds: budgetWaitSeconds(verdict, nowMs),
      ...(isSeen ? { amount: dollarsOf(amount), spent: dollarsOf(spent) } : {}),
    };
  });
}
