// What a budget does when its amount is spent. Pure.

/**
 * The mildest first. `shadow` only reports. `enforce` admits a call while money is left; an open call counts with what it is known to cost. `hard`
 * sets the estimate of the whole call aside before it is made (prompt and answer), refuses a call for which the rest does not suffice, and gives back what was not spent.
 */
export const budgetModes = ['shadow', 'enforce', 'hard'] as const;
export type BudgetMode = (typeof budgetModes)[number];

export function isBudgetMode(value: unknown): value is BudgetMode {
  return budgetModes.some((mode) => mode === value);
}

/** Above 0 when `one` is stricter than `other`, 0 when they are the same. */
export function compareStrictness(one: BudgetMode, other: BudgetMode): number {
  return budgetModes.indexOf(one) - budgetModes.indexOf(other);
}

/** The stricter of two. */
export function stricterMode(one: BudgetMode, other: BudgetMode): BudgetMode {
  return compareStrictness(one, other) > 0 ? one : other;
}
