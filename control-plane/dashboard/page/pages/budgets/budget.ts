// A budget as the API lists it, and the words for it. Pure.
import type { BudgetsAnswer } from '../../../../../schemas/types.ts';
import { count } from '../../format.ts';
import { parseTime } from '../../time.ts';

export type BudgetListing = BudgetsAnswer;
export type Budget = BudgetsAnswer['budgets'][number];

/** `/team-a, daily`. */
export function titleOf({ subject, period_label }: Pick<Budget, 'subject' | 'period_label'>): string {
  return `${subject}, ${periodWords(period_label)}`;
}

/** Of `daily`, `300s`. */
export function periodWords(label: string): string {
  const seconds = /^(\d+)s$/.exec(label)?.[1];
  return seconds === undefined ? label : `every ${count(Number(seconds))} s`;
}

/** How a request names the budget. */
export function keyOf({
  scope,
  subject,
  period_seconds,
}: Pick<Budget, 'scope' | 'subject' | 'period_seconds'>): object {
  return { scope, subject, budget_key: { period_seconds } };
}

/** How the spending goes on if the rest of the window is like its past. */
export interface Forecast {
  /** Spent at the end of the window. US dollars. */
  readonly atEnd: number;
  /** When the amount is spent; undefined: not in this window. Unix milliseconds. */
  readonly spentMs: number | undefined;
}

/** Less of a window says nothing about the rest of it. */
const leastShare = 0.02;

/** Undefined: the window is too young, or what was spent is not known. `nowMs`: the time of the listing. */
export function forecastOf(budget: Budget, nowMs: number): Forecast | undefined {
  const { spent, amount } = budget;
  const [startMs, endMs] = spanOf(budget);
  const passed = nowMs - startMs;
  if (spent === undefined || passed < (endMs - startMs) * leastShare) return undefined;
  const pace = spent / passed;
  const spentMs = startMs + amount / pace;
  return { atEnd: pace * (endMs - startMs), spentMs: pace > 0 && spentMs < endMs ? spentMs : undefined };
}

/** The time in which spend counts: from the last reset, if the window began before. Unix milliseconds. */
export function spanOf({ period_start, period_end, last_reset_at }: Budget): readonly [startMs: number, endMs: number] {
  const startMs = parseTime(period_start);
  const resetMs = last_reset_at === undefined ? startMs : parseTime(last_reset_at);
  return [Math.max(startMs, resetMs), parseTime(period_end)];
}
