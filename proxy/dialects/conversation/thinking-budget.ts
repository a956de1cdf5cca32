// How many tokens of thoughts fit into the most tokens of an answer, which count thoughts too.
import { type EditableObject, isObject, type JsonValue, numberOf } from '../json/json.ts';

/** Tokens that are left for the words of an answer, where so many are allowed at all; else half of them. */
export const besideThoughts = 1024;

/**
 * The thinking budget that leaves room for the answer below its cap, in tokens: `budget`, a smaller one, or undefined
 * where not even `least` fits. `maxTokens`: the cap; undefined or not a number: there is none.
 */
export function budgetWithin(budget: number, maxTokens: JsonValue | undefined, least: number): number | undefined {
  const cap = numberOf(maxTokens);
  if (cap === undefined) return budget;
  const most = Math.floor(cap - Math.min(besideThoughts, cap / 2));
  return most < least ? undefined : Math.min(budget, most);
}

/** A member of a request that holds a budget of thoughts. */
export interface BudgetPlace {
  /** Names of objects, one in the other, and of the member. */
  readonly path: readonly string[];
  /** Fewest tokens that it may say. */
  readonly least: number;
}

/**
 * Lowers the budgets at these places below `cap` (tokens). A budget with too little room is removed with its object.
 * Returns the names of the removed ones.
 */
export function lowerBudgets(body: EditableObject, places: readonly BudgetPlace[], cap: number): readonly string[] {
  return places.flatMap(({ path: [top = '', ...below], least }) => {
    let above = body;
    let holder = objectIn(body, top);
    const names = [top];
    for (const name of below.slice(0, -1)) {
      if (holder === undefined) return [];
      above = holder;
      holder = objectIn(holder, name);
      names.push(name);
    }
    const key = below.at(-1) ?? '';
    const budget = numberOf(holder?.[key]);
    if (holder === undefined || budget === undefined || budget <= 0) return [];
    const lowered = budgetWithin(budget, cap, least);
    if (lowered === undefined) delete above[names.at(-1) ?? ''];
    else holder[key] = lowered;
    return lowered === undefined ? [names.join('.')] : [];
  });
}

/** The member itself, not a copy: changing it changes the body. */
function objectIn(holder: EditableObject, key: string): EditableObject | undefined {
  const value = Object.hasOwn(holder, key) ? holder[key] : undefined;
  return isObject(value) ? value : undefined;
}
