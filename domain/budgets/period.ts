// The periods of a budget in seconds. A month has no fixed length, so its number of seconds only stands for it.

/** `monthly` stands for calendar months; its number, that of 30 days, is never a length. */
export const budgetPeriods = { hourly: 3_600, daily: 86_400, weekly: 604_800, monthly: 2_592_000 } as const;

export type BudgetPeriod = keyof typeof budgetPeriods;

/**
 * A period as written: a name or a number of seconds, exactly one of them. `daily` and 86400 seconds are the same
 * period.
 */
export interface GivenBudgetPeriod {
  readonly period?: BudgetPeriod;
  readonly period_seconds?: number;
}

/** The period in seconds; see `budgetPeriods` for `monthly`. */
export function budgetPeriodSeconds({ period, period_seconds: seconds }: GivenBudgetPeriod): number {
  return seconds ?? budgetPeriods[period ?? 'monthly'];
}

/** `hourly`, `daily`, `weekly`, `monthly`, otherwise for example `300s`. */
export function budgetPeriodLabel(seconds: number): string {
  for (const [name, length] of Object.entries(budgetPeriods)) if (length === seconds) return name;
  return `${seconds}s`;
}
