// Threads that go on after the end of a span: their newest entry of the span has to be looked up.
import { allOf, between, type Condition, condition } from '../condition.ts';
import type { Statements } from '../database.ts';
import type { Sought } from '../search/sought.ts';
import { byNewest, type EntryKey, keysOf } from './entry-keys.ts';

/** For each thread, or facet, that matches and lasts beyond the span, its newest entry in the span, when there is one. */
export async function threadsBeyond(statements: Statements, { combos, span, thread }: Sought): Promise<EntryKey[]> {
  const lasts = condition('part.last_ms >= ? AND part.first_ms < ?', span.toMs, span.toMs);
  const inSpan = between('inner_entry.started_ms', span);
  const [table, id] = combos === undefined ? ['thread', 'part.id'] : ['facet', 'part.thread'];
  const isOf = combos && condition(statements.dialect.isOneOf('part.combo + 0', 'BIGINT'), combos);
  const isSame = combos === undefined ? '' : ' AND inner_entry.combo = part.combo';
  const newest = `SELECT inner_entry.uid FROM entry AS inner_entry
    WHERE inner_entry.thread > 0 AND inner_entry.thread = ${id}${isSame} AND ${inSpan.sql} ${byNewest} LIMIT 1`;
  const where: Condition = allOf(lasts, isOf, thread === undefined ? undefined : condition(`${id} = ?`, thread));
  // Two statements: PostgreSQL would read all entries to join them with what it does not know.
  const rows = await statements.all(
    `SELECT (${newest}) AS uid FROM ${table} AS part WHERE ${where.sql}`,
    ...inSpan.values,
    ...where.values,
  );
  const uids = rows.flatMap(({ uid }) => (typeof uid === 'string' ? [uid] : []));
  if (uids.length === 0) return [];
  const isFound = statements.dialect.isOneOf('uid', 'TEXT');
  return keysOf(await statements.all(`SELECT uid, started_ms, thread FROM entry WHERE ${isFound}`, uids));
}
