// Resets of budgets: a time in the state store; spend before it does not count.
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

/** Reads a document; undefined when its body has no valid time. */
export function readBudgetReset(id: string, body: unknown): BudgetReset | undefined {
  const at = typeof body === 'object' && body !== null && 'reset_at' in body ? body.reset_at : undefined;
  const atMs = typeof at === 'string' ? parseMoment(at) : undefined;
  return atMs === undefined ? undefined : { id, atMs };
}

/** The inverse of `readBudgetReset`. */
export function budgetResetBody({ atMs }: BudgetReset): object {
  return { reset_at: timestamp(atMs) };
}

/**
 * Returns a function that maps the key of a budget to its last reset, alone or with all others, in Unix milliseconds;
 * undefined: never.
 */
export function lastResets(resets: readonly BudgetReset[]): (key: string) => number | undefined {
  const moments = new Map(resets.map(({ id, atMs }) => [id, atMs]));
  return (key) => {
    const last = Math.max(moments.get(key) ?? -Infinity, moments.get(everyBudget) ?? -Infinity);
    return last === -Infinity ? undefined : last;
  };
}
