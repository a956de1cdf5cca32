// Logs when a budget is nearly spent and when it is used up: one line for each, once per budget and window.

import { budgetTitle, placeOfBudget } from '../../domain/budgets/budget.ts';
import type { BudgetMode } from '../../domain/budgets/mode.ts';
import { sayDollars } from '../../domain/budgets/money.ts';
import { timestamp } from '../../domain/timestamp.ts';
import type { Log } from '../../plane/log-events.ts';
import { type BudgetStanding, highestSpend } from './standing.ts';

/** Shares of the amount, rising. */
const thresholds = [0.8, 1] as const;

/** The reported thresholds of a budget, in one window. */
interface Told {
  readonly startMs: number;
  /** How many of the thresholds. */
  readonly passed: number;
}

/** Of a template, the child that has spent most counts. */
export function createThresholdLines(log: Pick<Log, 'info' | 'warn'>): (standings: readonly BudgetStanding[]) => void {
  let told: ReadonlyMap<string, Told> = new Map();
  return (standings) => {
    const next = new Map<string, Told>();
    for (const standing of standings) {
      const { budget, window, question } = standing;
      if (!budget.enforced) continue;
      const place = placeOfBudget(budget);
      const share = highestSpend(standing.spend) / budget.amount;
      const before = told.get(place);
      // A reset begins a window, too: what was spent before it is forgotten.
      const known = before?.startMs === question.fromMs ? before.passed : 0;
      const passed = thresholds.filter((threshold) => share >= threshold).length;
      if (passed > known) log[passed === thresholds.length ? 'warn' : 'info'](...line(standing, window.endMs));
      next.set(place, { startMs: question.fromMs, passed: Math.max(known, passed) });
    }
    told = next;
  };
}

/** What a mode means once the budget is spent, and before. */
const atEnd: Readonly<Record<BudgetMode, string>> = {
  shadow: '; it is in shadow, so nothing is refused',
  enforce: '',
  hard: '',
};
const underway: Readonly<Record<BudgetMode, string>> = {
  shadow: '',
  enforce: '',
  hard: '; it is hard, so calls that may cost more than the rest are refused',
};

function line({ budget, spend }: BudgetStanding, endMs: number): [object, string] {
  const { id, mode, amount } = budget;
  const spent = highestSpend(spend);
  const facts = {
    budget: id,
    mode,
    spent: sayDollars(spent),
    amount: sayDollars(amount),
    window_end: timestamp(endMs),
  };
  const [subject] = budget.perChild ? ([...spend].find(([, each]) => each === spent) ?? []) : [];
  const whose = subject === undefined ? '' : ` of ${subject}`;
  const isSpent = spent >= amount;
  const says = isSpent ? 'is spent' : `is spent to ${Math.floor((spent / amount) * 100)} %`;
  return [facts, `the budget ${budgetTitle(budget)}${whose} ${says}${isSpent ? atEnd[mode] : underway[mode]}`];
}
