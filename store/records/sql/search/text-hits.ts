// Finds entries by a text in what is different for each: request id, error message, session.
import { allOf, anyOf, between, type Condition, condition, contains } from '../condition.ts';
import type { Statements } from '../database.ts';
import { type EntryKey, keysOf } from '../read/entry-keys.ts';
import { candidates, lastInSegments } from './search-segments.ts';
import type { Sought, SoughtText } from './sought.ts';

/** A text that more entries have is found in the newest of them alone, so that no page takes longer than its reader waits. */
const mostHits = 5_000;
/** Most sessions that are looked at because their name has the text in it. */
const mostSessions = 2_000;

/** Entries that match by text alone. */
export async function textHits(statements: Statements, { span, text }: Sought): Promise<EntryKey[]> {
  if (text === undefined) return [];
  const { dialect } = statements;
  const { term } = text;
  const after = await lastInSegments(statements);
  const isOfEntry = anyOf(contains(dialect, 'request_id', term), contains(dialect, 'error_message', term));
  const isSought = allOf(
    between('started_ms + 0', span),
    text.combos && condition(dialect.isOneOf('combo + 0', 'BIGINT'), text.combos),
  );
  const own = await candidates(statements, { term, source: 'entry', span }, mostHits);
  const hits = new Map<string, EntryKey>();
  for (const where of [
    allOf(condition('id > ?', after), isOfEntry),
    allOf(condition(dialect.isOneOf('id', 'BIGINT'), own), isOfEntry),
    allOf(condition(dialect.isOneOf('thread > 0 AND thread', 'BIGINT'), await sessionsNamed(statements, term, span))),
  ]) {
    const { sql, values } = allOf(where, isSought);
    const columns = 'SELECT uid, started_ms, thread FROM entry';
    const rows = await statements.all(`${columns} WHERE ${sql} ORDER BY id DESC LIMIT ?`, ...values, mostHits);
    for (const key of keysOf(rows)) hits.set(key.uid, key);
  }
  return [...hits.values()];
}

/** Makes the search a condition on rows of `entry`, for the few that one session has. */
export function hasText({ dialect }: Statements, { term, combos }: SoughtText): Condition {
  const named = contains(dialect, 'thread.key', term);
  return allOf(
    combos && condition(dialect.isOneOf('combo', 'BIGINT'), combos),
    anyOf(
      contains(dialect, 'request_id', term),
      contains(dialect, 'error_message', term),
      condition(`EXISTS (SELECT 1 FROM thread WHERE thread.id = entry.thread AND ${named.sql})`, ...named.values),
    ),
  );
}

/** The numbers of sessions whose key has the text in it, and that have entries in the span. */
async function sessionsNamed(statements: Statements, term: string, span: Sought['span']): Promise<number[]> {
  const { dialect } = statements;
  const found = await candidates(statements, { term, source: 'session', span }, mostSessions);
  const isNamed = contains(dialect, 'key', term);
  const numbers = new Set<number>();
  for (const where of [
    condition('id > ?', await lastInSegments(statements)),
    condition(dialect.isOneOf('id', 'BIGINT'), found),
  ]) {
    // Two statements: to join them, PostgreSQL would read all sessions.
    // The sum keeps SQLite from the index of all entries with a session.
    const of = allOf(where, condition('thread + 0 > 0'));
    const threads = await statements.all(`SELECT DISTINCT thread FROM entry WHERE ${of.sql}`, ...of.values);
    const { sql, values } = allOf(
      condition(
        dialect.isOneOf('id', 'BIGINT'),
        threads.map(({ thread }) => Number(thread)),
      ),
      isNamed,
    );
    const rows = await statements.all(`SELECT id FROM thread WHERE ${sql} LIMIT ?`, ...values, mostSessions);
    for (const { id } of rows) numbers.add(Number(id));
  }
  return [...numbers];
}
