// Removes what was kept for its time, or what takes room, a portion at a time, and takes it off everything that counts it.
import type { Relief, Retention } from '../../record-store.ts';
import type { Statements } from '../database.ts';
import { pruneSegments } from '../search/search-segments.ts';
import { pruneMirrors } from './mirrors.ts';
import { paceGrains } from './pace.ts';
import { grains, minuteMs, tally } from './tallies.ts';
import { pruneUsage } from './usage-prune.ts';
import { minuteRollups, tableOf } from './usage-rollups.ts';

/** Gives how many entries, usage records and comparisons were removed, at most `most` of each. */
export async function pruneRecords(
  statements: Statements,
  { auditBeforeMs = 0, usageBeforeMs, minutesBeforeMs = 0 }: Retention,
  most: number,
): Promise<number> {
  for (const grainMs of paceGrains) {
    const beforeMs = grainMs === minuteMs ? minutesBeforeMs : auditBeforeMs - grainMs;
    await statements.run('DELETE FROM pace WHERE grain_ms = ? AND start_ms < ?', grainMs, beforeMs);
  }
  for (const rollup of minuteRollups)
    await statements.run(`DELETE FROM ${tableOf(rollup, minuteMs)} WHERE start_ms < ?`, minutesBeforeMs);
  const entries = await pruneEntries(statements, auditBeforeMs, most);
  const compared = await pruneMirrors(statements, usageBeforeMs ?? 0, most);
  return entries + compared + (await pruneUsage(statements, usageBeforeMs ?? 0, most));
}

/**
 * Makes room: removes the bodies of at most `most` entries behind the one with the number `after`; where none is left, as many of the
 * oldest entries. Usage records and their sums stay.
 */
export async function relieveRecords(statements: Statements, after: number, most: number): Promise<Relief> {
  const oldest = await statements.all(
    'SELECT id FROM entry_data WHERE id > ? AND complete IS NOT NULL ORDER BY id LIMIT ?',
    after,
    most,
  );
  const ids = oldest.map(({ id }) => Number(id));
  if (ids.length === 0) {
    return { bodies: 0, entries: await pruneEntries(statements, Number.MAX_SAFE_INTEGER, most), last: after };
  }
  await statements.run(
    `UPDATE entry_data SET complete = NULL WHERE ${statements.dialect.isOneOf('id', 'BIGINT')}`,
    ids,
  );
  return { bodies: ids.length, entries: 0, last: ids.at(-1) ?? after };
}

/** The oldest first. Gives how many entries were removed. */
async function pruneEntries(statements: Statements, beforeMs: number, most: number): Promise<number> {
  const old = await statements.all(
    'SELECT id, started_ms, duration_ns, thread, combo FROM entry WHERE started_ms < ? ORDER BY started_ms LIMIT ?',
    beforeMs,
    most,
  );
  if (old.length === 0) return 0;
  const entries = old.map((row) => ({
    id: Number(row['id']),
    startedMs: Number(row['started_ms']),
    durationNs: Number(row['duration_ns']),
    thread: Number(row['thread']),
    combo: Number(row['combo']),
  }));
  await takeOff(
    statements,
    entries.map(({ id }) => id),
  );
  await tally(statements, entries, -1);
  const lastMs = entries.at(-1)?.startedMs ?? 0;
  for (const grain of grains)
    await statements.run('DELETE FROM tally WHERE grain_ms = ? AND start_ms <= ? AND n <= 0', grain, lastMs);
  return entries.length;
}

/** Removes entries by their numbers, and threads, facets, combos and segments that have none left. */
async function takeOff(statements: Statements, ids: readonly number[]): Promise<void> {
  const isGone = statements.dialect.isOneOf('id', 'BIGINT');
  const counted = (columns: string): string =>
    `(SELECT ${columns}, count(*) AS n FROM entry WHERE ${isGone} GROUP BY ${columns}) AS gone`;
  const less = (table: string, columns: string, isSame: string): Promise<number> =>
    statements.run(`UPDATE ${table} SET n = ${table}.n - gone.n FROM ${counted(columns)} WHERE ${isSame}`, ids);
  await less('thread', 'thread', 'thread.id = gone.thread');
  await less('facet', 'thread, combo', 'facet.thread = gone.thread AND facet.combo = gone.combo');
  await less('combo', 'combo', 'combo.id = gone.combo');
  const empty = (column: string): string => `(SELECT ${column} FROM entry WHERE ${isGone})`;
  await statements.run(`DELETE FROM facet WHERE n <= 0 AND thread IN ${empty('thread')}`, ids);
  await statements.run(`DELETE FROM thread WHERE n <= 0 AND id IN ${empty('thread')}`, ids);
  await statements.run(`DELETE FROM combo WHERE n <= 0 AND id IN ${empty('combo')}`, ids);
  await statements.run(`DELETE FROM entry_data WHERE ${isGone}`, ids);
  await statements.run(`DELETE FROM entry WHERE ${isGone}`, ids);
  await pruneSegments(statements, ids);
}
