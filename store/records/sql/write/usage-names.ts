// The dictionaries of usage records: models, user paths and labels, each text once, known by a number.
import { hash } from 'node:crypto';
import type { Insertion, Statements } from '../database.ts';

export interface Dictionary {
  readonly table: string;
  /** All of them are texts. */
  readonly columns: readonly string[];
  /** The number of columns, from the first, that make a name; the others are kept as they came with it first. Absent: all. */
  readonly keyColumns?: number;
  /** The last column of the key came later: where it says this, the key is the one without it, as before. */
  readonly usual?: string;
}

/** Dictionaries, by the column of `usage` and its sums that holds their numbers. */
export const dictionaries = {
  model: { table: 'usage_model', columns: ['model', 'provider', 'provider_name'] },
  path: { table: 'usage_path', columns: ['folded_path', 'asked_by', 'user_path'], keyColumns: 2, usual: 'client' },
  label: { table: 'usage_label_name', columns: ['label'] },
} as const satisfies Readonly<Record<string, Dictionary>>;

export type NamedColumn = keyof typeof dictionaries;

/** The numbers of these names, in their order. New ones are kept. */
export async function numbersOf(
  statements: Statements,
  dictionary: Dictionary,
  names: readonly (readonly string[])[],
): Promise<number[]> {
  if (names.length === 0) return [];
  const { table, columns } = dictionary;
  const keys = names.map((name) => keyOf(name, dictionary));
  const byKey = new Map<string, readonly string[]>();
  for (const [index, key] of keys.entries()) if (!byKey.has(key)) byKey.set(key, names[index] ?? []);
  // An index of PostgreSQL takes no text of more than some thousand bytes.
  const hashes = new Map([...byKey.keys()].map((key) => [key, hash('sha256', key, 'base64url')]));
  const isSought = statements.dialect.isOneOf('key', 'TEXT');
  const known = await statements.all(`SELECT id, key FROM ${table} WHERE ${isSought}`, [...hashes.values()]);
  const numbers = new Map(known.map(({ id, key }) => [String(key), Number(id)]));
  const fresh = [...byKey]
    .map(([key, name]) => [hashes.get(key) ?? '', ...name])
    .filter(([key = '']) => !numbers.has(key));
  if (fresh.length > 0)
    for (const { id, key } of await statements.insert(insertionInto(table, columns), fresh))
      numbers.set(String(key), Number(id));
  const byName = new Map([...hashes].map(([key, short]) => [key, numbers.get(short) ?? 0]));
  return keys.map((key) => byName.get(key) ?? 0);
}

function keyOf(name: readonly string[], { columns, keyColumns = columns.length, usual }: Dictionary): string {
  const parts = name.slice(0, keyColumns);
  return JSON.stringify(usual !== undefined && parts.at(-1) === usual ? parts.slice(0, -1) : parts);
}

function insertionInto(table: string, columns: readonly string[]): Insertion {
  const types = Object.fromEntries(['key', ...columns].map((name) => [name, 'TEXT' as const]));
  return { table, columns: types, tail: 'RETURNING id, key' };
}
