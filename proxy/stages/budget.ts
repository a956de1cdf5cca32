// Stage 2: has the caller spent a budget? It comes before the consumer's allowance, so that a refused request takes nothing of that.
import { sayDollars } from '../../domain/budgets/money.ts';
import { budgetPeriodLabel } from '../../domain/budgets/period.ts';
import { spelledAs } from '../../domain/user-path.ts';
import type { Budgets } from '../budgets/budgets.ts';
import { againAtMs, type SpentBudget } from '../budgets/spent-budget.ts';
import { type Refusal, refusal } from '../errors.ts';
import { longestPoliteWaitSeconds } from '../limits/headers.ts';
import { followed } from '../pacing/slices.ts';
import type { Principal } from './authenticate.ts';

type Caller = Pick<Principal, 'shownPath' | 'labels'>;
export interface BudgetParts {
  readonly budgets: Budgets;
  /** Milliseconds of the gateway's clock. */
  readonly nowMs: () => number;
}

/**
 * 429 `budget_exceeded` when the user path, one above it, or a label of the key has spent its budget; undefined: none stands in the way. A
 * promise where the state store has to be asked.
 */
export function spentBudget(
  { shownPath, labels }: Caller,
  { budgets, nowMs }: BudgetParts,
): Refusal | undefined | Promise<Refusal | undefined> {
  if (budgets.isEmpty) return undefined;
  const refusing = budgets.refusing({ userPath: shownPath, labels }, Math.floor(nowMs()));
  return followed(refusing, (spent) => spent && budgetRefusal(spent, shownPath, Math.floor(nowMs())));
}

/**
 * The answer to a request of `shownPath` that a budget refuses. Its wait is the time to the end of the window, or shorter where what is in the
 * way may end before. 503 `budget_check_failed` where the state store is lost, and nothing is admitted without it.
 */
export function budgetRefusal(budget: SpentBudget, shownPath: string, nowMs: number): Refusal {
  const { id, scope, effectiveSubject, periodSeconds, spent, amount } = budget;
  const seconds = budgetWaitSeconds(budget, nowMs);
  const subject = scope === 'user_path' ? spelledAs(shownPath, effectiveSubject) : `label ${effectiveSubject}`;
  const period = budgetPeriodLabel(periodSeconds);
  const also = alsoInTheWay(budget);
  const fill = { subject, period, spent: sayDollars(spent), amount: sayDollars(amount), also, seconds };
  const headers: Record<string, string> = { 'retry-after': String(seconds), 'x-gateway-rule': id };
  if (seconds > longestPoliteWaitSeconds) headers['x-should-retry'] = 'false';
  const code = budget.isStoreLost ? 'budget_check_failed' : 'budget_exceeded';
  return refusal(code, { fill, headers, rule: { id, scope, label: id } });
}

/** The end of the words on what is spent, where more than that is in the way. */
function alsoInTheWay({ spent, amount, wanted, againAtMs: soon }: SpentBudget): string {
  if (spent >= amount) return '';
  if (soon !== undefined) return ', and open requests have set the rest aside';
  return wanted === undefined ? '' : `, and this request may cost up to ${sayDollars(wanted)}`;
}

/** Whole seconds until it is worth to ask again, at least 1. */
export function budgetWaitSeconds(budget: Pick<SpentBudget, 'againAtMs' | 'endMs'>, nowMs: number): number {
  return Math.max(1, Math.ceil((againAtMs(budget) - nowMs) / 1000));
}
