// Where threads of a span are counted and sorted from: the threads themselves, or their facets when a filter names combos.
import type { Span } from '../../record-store.ts';
import { allOf, between, type Condition, condition } from '../condition.ts';
import type { Statements } from '../database.ts';
import { isThread, type Sought } from '../search/sought.ts';
import { behind, type EntryKey, type EntryPosition, keysOf } from './entry-keys.ts';

/** With fewer entries of its combos than this, all their facets are sorted; with more, facets are walked through, the newest first. */
export const fewOfCombos = 10_000;
/** With more entries of its combos than this, all facets are gone through in the order of their threads. */
export const manyEntries = 100_000;

/** How many threads have their newest matching entry in the span. */
export async function countThreads(statements: Statements, sought: Sought): Promise<number> {
  const { combos, comboEntries, span, threads } = sought;
  const { dialect } = statements;
  if (combos === undefined) {
    const { sql, values } = allOf(between('last_ms', span), isThread(dialect, 'id', threads));
    const [row] = await statements.all(`SELECT count(*) AS total FROM thread WHERE ${sql}`, ...values);
    return Number(row?.['total']);
  }
  // A sum keeps the planner from an index.
  const column = comboEntries > manyEntries ? 'combo + 0' : 'combo';
  const isOf = condition(dialect.isOneOf(column, 'BIGINT'), combos);
  const { sql, values } = allOf(isOf, between('last_ms + 0', span), isThread(dialect, 'thread', threads));
  const [row] = await statements.all(`SELECT count(DISTINCT thread) AS total FROM facet WHERE ${sql}`, ...values);
  return Number(row?.['total']);
}

/** Those of them that are given, with the newest match of each facet, in no order. */
export async function newestOf(
  statements: Statements,
  sought: Sought,
  threads: readonly number[],
): Promise<EntryKey[]> {
  const { combos, span } = sought;
  if (threads.length === 0 || combos?.length === 0) return [];
  const { isOneOf } = statements.dialect;
  const isGiven = condition(isOneOf(combos === undefined ? 'id' : 'thread', 'BIGINT'), threads);
  const isOf = combos && condition(isOneOf('combo + 0', 'BIGINT'), combos);
  const { sql, values } = allOf(isGiven, isOf, between('last_ms + 0', span));
  const columns = 'last_ms AS started_ms, last_uid AS uid';
  const from = combos === undefined ? `id AS thread, ${columns} FROM thread` : `thread, ${columns} FROM facet`;
  return keysOf(await statements.all(`SELECT ${from} WHERE ${sql}`, ...values));
}

/** Which rows of a page are wanted. */
export interface Wanted {
  /** The span that is asked for, or its beginning. */
  readonly within: Span;
  /** Those behind this place; undefined: all. */
  readonly after: EntryPosition | undefined;
}

/** One row for each thread counted so: no other facet of it that matches is newer. */
export function newestMatches(
  statements: Statements,
  { combos, comboEntries, span, threads }: Sought,
  { within, after }: Wanted,
): Condition {
  const { dialect } = statements;
  const columns = 'last_ms AS started_ms, last_uid AS uid';
  if (combos === undefined) {
    const { sql, values } = allOf(
      between('last_ms', within),
      isThread(dialect, 'id', threads),
      behind(after, ['last_ms', 'last_uid']),
    );
    return condition(`SELECT id AS thread, ${columns} FROM thread WHERE ${sql}`, ...values);
  }
  const isFew = comboEntries <= fewOfCombos;
  const isOf = (column: string): Condition => condition(dialect.isOneOf(column, 'BIGINT'), combos);
  const newer = allOf(
    condition('other.thread = facet.thread AND (other.last_ms, other.last_uid) > (facet.last_ms, facet.last_uid)'),
    condition('other.last_ms + 0 < ?', span.toMs),
    isOf('other.combo + 0'),
  );
  const { sql, values } = allOf(
    between(isFew ? 'last_ms + 0' : 'last_ms', within),
    behind(after, [isFew ? 'last_ms + 0' : 'last_ms', 'last_uid']),
    isOf(isFew ? 'combo' : 'combo + 0'),
    isThread(dialect, 'thread', threads),
    condition(`NOT EXISTS (SELECT 1 FROM facet AS other WHERE ${newer.sql})`, ...newer.values),
  );
  return condition(`SELECT thread, ${columns} FROM facet WHERE ${sql}`, ...values);
}
