// Resets of budgets: a moment in the state store, from which on spend counts.
import { parseMoment } from '../../schemas/formats/moment.ts';
import { timestamp } from '../timestamp.ts';

/** The kind of their documents. The id is the key of the budget, or empty for a reset of all; the body is `{"reset_at": moment}`. */
export const budgetResetKind = 'budget_reset';

/** The id of the reset that all budgets share. */
export const everyBudget = '';

export interface BudgetReset {
  /** The id of the document. */
  readonly id: string;
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** Reads a document; undefined when it has no moment. */
export function readBudgetReset(id: string, body: unknown): BudgetReset | undefined {
  const at = typeof body === 'object' && body !== null && 'reset_at' in body ? body.reset_at : undefined;
  const atMs = typeof at === 'string' ? parseMoment(at) : undefined;
  return atMs === undefined ? undefined : { id, atMs };
}

/** The inverse of `readBudgetReset`. */
export function budgetResetBody({ atMs }: BudgetReset): object {
  return { reset_at: timestamp(atMs) };
}

/** When a budget was reset last, alone or with all others, in Unix milliseconds; undefined: never. */
export function lastResets(resets: readonly BudgetReset[]): (key: string) => number | undefined {
  const moments = new Map(resets.map(({ id, atMs }) => [id, atMs]));
  return (key) => {
    const last = Math.max(moments.get(key) ?? -Infinity, moments.get(everyBudget) ?? -Infinity);
    return last === -Infinity ? undefined : last;
  };
}
