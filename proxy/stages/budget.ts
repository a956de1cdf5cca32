// Stage 2: has the caller spent a budget? It comes before the consumer's allowance, so that a refused request takes nothing of that.
import { sayDollars } from '../../domain/budgets/money.ts';
import { budgetPeriodLabel } from '../../domain/budgets/period.ts';
import type { BudgetVerdict } from '../../domain/budgets/verdicts.ts';
import { spelledAs } from '../../domain/user-path.ts';
import type { BudgetsInForce } from '../budgets/budgets-in-force.ts';
import { type Refusal, refusal } from '../errors.ts';
import { longestPoliteWaitSeconds } from '../limits/headers.ts';
import type { Principal } from './authenticate.ts';

type Caller = Pick<Principal, 'shownPath' | 'labels'>;
export interface BudgetParts {
  /** Those that are used up. */
  readonly budgets: BudgetsInForce;
  /** Milliseconds of the gateway's clock. */
  readonly nowMs: () => number;
}

/** 429 `budget_exceeded` when the user path, one above it, or a label of the key has spent its budget; undefined: none stands in the way. */
export function spentBudget({ shownPath, labels }: Caller, { budgets, nowMs }: BudgetParts): Refusal | undefined {
  if (budgets.isEmpty) return undefined;
  const now = Math.floor(nowMs());
  const verdict = budgets.decide(shownPath, labels, now);
  return verdict && budgetRefusal(verdict, shownPath, now);
}

/** The answer to a request of `shownPath` whose budget is spent; its wait is the time to the end of the window. */
export function budgetRefusal(verdict: BudgetVerdict, shownPath: string, nowMs: number): Refusal {
  const { id, scope, effectiveSubject, periodSeconds, spent, amount } = verdict;
  const seconds = budgetWaitSeconds(verdict, nowMs);
  const subject = scope === 'user_path' ? spelledAs(shownPath, effectiveSubject) : `label ${effectiveSubject}`;
  const period = budgetPeriodLabel(periodSeconds);
  const fill = { subject, period, spent: sayDollars(spent), amount: sayDollars(amount), seconds };
  const headers: Record<string, string> = { 'retry-after': String(seconds), 'x-gateway-rule': id };
  if (seconds > longestPoliteWaitSeconds) headers['x-should-retry'] = 'false';
  return refusal('budget_exceeded', { fill, headers, rule: { id, scope, label: id } });
}

/** Whole seconds to the end of the window, at least 1. */
export function budgetWaitSeconds({ endMs }: Pick<BudgetVerdict, 'endMs'>, nowMs: number): number {
  return Math.max(1, Math.ceil((endMs - nowMs) / 1000));
}
