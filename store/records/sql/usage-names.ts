// The dictionaries of usage records: models, user paths and labels, each text once, known by a number.
import { hash } from 'node:crypto';
import type { Insertion, Statements } from './database.ts';

export interface Dictionary {
  readonly table: string;
  /** All of them are texts. */
  readonly columns: readonly string[];
}

/** What a column of the same name in `usage`, and in its sums, is a number of. */
export const dictionaries = {
  model: { table: 'usage_model', columns: ['model', 'provider', 'provider_name'] },
  path: { table: 'usage_path', columns: ['user_path'] },
  label: { table: 'usage_label_name', columns: ['label'] },
} as const satisfies Readonly<Record<string, Dictionary>>;

export type NamedColumn = keyof typeof dictionaries;

/** The numbers of these names, by `nameKey`. New ones are kept. */
export async function numbersOf(
  statements: Statements,
  { table, columns }: Dictionary,
  names: Iterable<readonly string[]>,
): Promise<ReadonlyMap<string, number>> {
  // An index of PostgreSQL takes no text of more than some thousand bytes.
  const byHash = new Map([...names].map((name) => [hash('sha256', nameKey(name), 'base64url'), name]));
  if (byHash.size === 0) return new Map();
  const isSought = statements.dialect.isOneOf('key', 'TEXT');
  const known = await statements.all(`SELECT id, key FROM ${table} WHERE ${isSought}`, [...byHash.keys()]);
  const numbers = new Map<string, number>();
  const keep = (rows: readonly Readonly<Record<string, unknown>>[]): void => {
    for (const { id, key } of rows) numbers.set(nameKey(byHash.get(String(key)) ?? []), Number(id));
  };
  keep(known);
  const fresh = [...byHash].filter(([, name]) => !numbers.has(nameKey(name)));
  if (fresh.length > 0)
    keep(
      await statements.insert(
        insertionInto(table, columns),
        fresh.map(([key, name]) => [key, ...name]),
      ),
    );
  return numbers;
}

/** One text for the texts of a name. */
export function nameKey(name: readonly string[]): string {
  return JSON.stringify(name);
}

function insertionInto(table: string, columns: readonly string[]): Insertion {
  const types = Object.fromEntries(['key', ...columns].map((name) => [name, 'TEXT' as const]));
  return { table, columns: types, tail: 'RETURNING id, key' };
}
