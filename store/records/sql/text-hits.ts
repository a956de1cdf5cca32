// Finds entries by a text in what is different for each: request id, error message, session.
import { allOf, anyOf, between, type Condition, condition, contains } from './condition.ts';
import type { Statements } from './database.ts';
import { type EntryKey, keysOf } from './entry-keys.ts';
import { hexText, linesOf, oneLine } from './search-blocks.ts';
import type { Sought } from './sought.ts';

/** More are not held, but looked for row by row, which takes longer. */
const mostHits = 50_000;

/** Entries that match by text alone; undefined: too many. */
export async function textHits(statements: Statements, { span, text }: Sought): Promise<EntryKey[] | undefined> {
  if (text === undefined || text.combos.length === 0) return [];
  const numbers = await numbersInBlocks(statements, text.term);
  const threads = await statements.all(...threadsNamed(statements, text.term, span.fromMs));
  if (numbers === undefined || threads.length > mostHits) return undefined;
  const { isOneOf } = statements.dialect;
  const isSought = allOf(between('started_ms', span), condition(isOneOf('combo + 0', 'BIGINT'), text.combos));
  const hits = new Map<string, EntryKey>();
  const lists = [
    { column: 'id', list: numbers },
    { column: 'thread > 0 AND thread', list: threads.map(({ id }) => Number(id)) },
  ];
  for (const { column, list } of lists.filter((each) => each.list.length > 0)) {
    const { sql, values } = allOf(condition(isOneOf(column, 'BIGINT'), list), isSought);
    const rows = await statements.all(
      `SELECT uid, started_ms, thread FROM entry WHERE ${sql} LIMIT ?`,
      ...values,
      mostHits + 1,
    );
    for (const key of keysOf(rows)) hits.set(key.uid, key);
  }
  return hits.size > mostHits ? undefined : [...hits.values()];
}

/** The same as a condition on rows of `entry`, for any number of them. */
export function hasText(
  statements: Statements,
  { term, combos }: { readonly term: string; readonly combos: readonly number[] },
): Condition {
  const { dialect } = statements;
  const named = contains(dialect, 'key', term);
  return allOf(
    condition(dialect.isOneOf('combo', 'BIGINT'), combos),
    anyOf(
      contains(dialect, 'request_id', term),
      contains(dialect, 'error_message', term),
      condition(`thread IN (SELECT id FROM thread WHERE ${named.sql})`, ...named.values),
    ),
  );
}

function threadsNamed({ dialect }: Statements, term: string, fromMs: number): [string, ...(string | number)[]] {
  const { sql, values } = contains(dialect, 'key', term);
  return [
    `SELECT id FROM thread WHERE ${sql} AND last_ms + 0 >= ? LIMIT ?`,
    ...(values as string[]),
    fromMs,
    mostHits + 1,
  ];
}

/** The numbers of entries; a text with other letters than a UUID has is looked for where there are words. */
async function numbersInBlocks(statements: Statements, term: string): Promise<number[] | undefined> {
  const folded = oneLine(term);
  const columns = hexText.test(folded) ? ['hex', 'words'] : ['words'];
  const numbers: number[] = [];
  for (const column of columns) {
    const { sql, values } = condition(`${statements.dialect.place}(${column}, ?) > 0`, folded);
    const blocks = await statements.all(
      `SELECT first_entry, ${column} AS lines FROM search_block WHERE ${sql}`,
      ...values,
    );
    for (const { first_entry: first, lines } of blocks) {
      for (const line of linesOf(String(lines), folded)) numbers.push(Number(first) + line);
      if (numbers.length > mostHits) return undefined;
    }
  }
  return numbers;
}
