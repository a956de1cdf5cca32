// Computes the spend of each budget in its present window, and the used-up budgets. Pure.
import type { MergedBudget } from '../../domain/budgets/merge-budgets.ts';
import { type BudgetVerdict, type BudgetVerdicts, mostVerdicts } from '../../domain/budgets/verdicts.ts';
import { type Anchors, type BudgetWindow, budgetWindow } from '../../domain/budgets/window.ts';
import type { NanoDollars } from '../../domain/records/usage.ts';
import type { Spend, SpendQuestion } from '../../store/records/record-store.ts';

/** A budget in its present window. */
export interface AskedBudget {
  readonly budget: MergedBudget;
  readonly window: BudgetWindow;
  readonly question: SpendQuestion;
}

/** A budget with its spend. */
export interface BudgetStanding extends AskedBudget {
  readonly spend: Spend;
}

/**
 * The questions for the spend of each budget since its window began, or since its last reset. `nowMs`: Unix
 * milliseconds.
 */
export function questionsOf(budgets: readonly MergedBudget[], anchors: Anchors, nowMs: number): AskedBudget[] {
  return budgets.map((budget) => {
    const window = budgetWindow(budget.periodSeconds, anchors, nowMs);
    const { scope, matchSubject: subject, perChild, lastResetMs = window.startMs } = budget;
    const fromMs = Math.max(window.startMs, lastResetMs);
    return { budget, window, question: { scope, subject, perChild, fromMs } };
  });
}

/** From when on usage counts for one of these budgets; Infinity: there is none. Unix milliseconds. */
export function countedSinceMs(budgets: readonly MergedBudget[], anchors: Anchors, nowMs: number): number {
  const asked = questionsOf(budgets, anchors, Math.floor(nowMs));
  return asked.reduce((earliest, { question }) => Math.min(earliest, question.fromMs), Number.POSITIVE_INFINITY);
}

/** Where a standing belongs: a template and a plain budget of one key may stand beside each other. */
export function placeOfBudget({ key, perChild }: Pick<MergedBudget, 'key' | 'perChild'>): string {
  return `${perChild} ${key}`;
}

/** The most that one subject of the budget has spent. */
export function highestSpend(spend: Spend): NanoDollars {
  let highest = 0;
  for (const spent of spend.values()) if (spent > highest) highest = spent;
  return highest;
}

/** A verdict on every subject that has spent its budget, for budgets that are enforced; at most `mostVerdicts`, those that refuse first. */
export function verdictsOf(standings: readonly BudgetStanding[], computedAtMs: number): BudgetVerdicts {
  const found: BudgetVerdict[] = [];
  for (const { budget, window, spend } of standings) {
    if (!budget.enforced) continue;
    const { id, scope, subject, perChild, periodSeconds, amount, mode } = budget;
    for (const [effectiveSubject, spent] of spend) {
      if (spent < amount) continue;
      found.push({ id, scope, subject, effectiveSubject, perChild, periodSeconds, amount, spent, ...window, mode });
    }
  }
  const verdicts =
    found.length <= mostVerdicts
      ? found
      : found.sort((a, b) => Number(a.mode === 'shadow') - Number(b.mode === 'shadow')).slice(0, mostVerdicts);
  return { computedAtMs, verdicts, unlisted: found.length - verdicts.length };
}
