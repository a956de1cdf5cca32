// A budget that refuses a request: it is used up, or what is left of it is not enough.
import type { BudgetMode } from '../../domain/budgets/mode.ts';
import type { BudgetVerdict } from '../../domain/budgets/verdicts.ts';
import type { NanoDollars } from '../../domain/records/usage.ts';

/** A budget as it stands: used up, or not. */
export interface KnownBudget extends Omit<BudgetVerdict, 'mode'> {
  readonly mode: BudgetMode;
}

export interface SpentBudget extends KnownBudget {
  /** Where it is not used up: when it is worth to ask again. Unix milliseconds. */
  readonly againAtMs?: number;
  /** Where it is not used up: the most that the request may cost. */
  readonly wanted?: NanoDollars;
  /** It is not known what is left: the state store is lost, and nothing is admitted without it. */
  readonly isStoreLost?: true;
}

/** When it is worth to ask again: as a rule at the end of the window. Unix milliseconds. */
export function againAtMs({ againAtMs: soon, endMs }: Pick<SpentBudget, 'againAtMs' | 'endMs'>): number {
  return soon ?? endMs;
}
