// Conditions of SQL with their values, put together.
import type { Value } from './database.ts';
import type { Dialect } from './dialect.ts';
import { foldCase } from './plain-values.ts';

export interface Condition {
  readonly sql: string;
  readonly values: readonly Value[];
}

export function condition(sql: string, ...values: Value[]): Condition {
  return { sql, values };
}

/** Those that are given; none: always true. */
export function allOf(...conditions: readonly (Condition | undefined)[]): Condition {
  return joined(conditions, ' AND ', '1 = 1');
}

/** Those that are given; none: never true. */
export function anyOf(...conditions: readonly (Condition | undefined)[]): Condition {
  return joined(conditions, ' OR ', '1 = 0');
}

/** Whether a column has the text in it, whatever the case of ASCII letters; no character is a wildcard. */
export function contains({ place }: Dialect, column: string, text: string): Condition {
  return condition(`${place}(lower(${column}), ?) > 0`, foldCase(text));
}

/** From the first moment to just before the second. */
export function between(
  column: string,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Condition {
  return condition(`${column} >= ? AND ${column} < ?`, fromMs, toMs);
}

function joined(conditions: readonly (Condition | undefined)[], word: string, none: string): Condition {
  const given = conditions.filter((each) => each !== undefined);
  if (given.length === 0) return condition(none);
  return { sql: given.map(({ sql }) => `(${sql})`).join(word), values: given.flatMap(({ values }) => values) };
}
