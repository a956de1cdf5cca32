// Pages of the log: the entries that match, the newest first.
import type { AuditEntry } from '../../../../domain/records/audit-entry.ts';
import type { EntryFilter, Page } from '../../record-store.ts';
import { allOf, anyOf, between, type Condition, condition } from '../condition.ts';
import type { Statements } from '../database.ts';
import { countSlices, sumOf, type TimeSlice } from '../report/time-slices.ts';
import { isThread, type Sought, seek } from '../search/sought.ts';
import { hasText, textHits } from '../search/text-hits.ts';
import { byNewest, type EntryKey, keysOf, newestFirst } from './entry-keys.ts';
import { listedEntries } from './listed-entries.ts';

interface Keys {
  readonly total: number;
  readonly keys: readonly EntryKey[];
}

/** With fewer matches than this, all of them are sorted; with more, entries are walked through, the newest first. */
export const fewEntries = 2_000;

export async function listEntries(
  statements: Statements,
  filter: EntryFilter,
  page: Page,
): Promise<{ total: number; entries: AuditEntry[] }> {
  const sought = await seek(statements, filter);
  if (sought === undefined) return { total: 0, entries: [] };
  const { total, keys } = await pageOf(statements, sought, page);
  const listed = await listedEntries(
    statements,
    keys.map(({ uid }) => uid),
  );
  return { total, entries: listed.map(({ entry }) => entry) };
}

async function pageOf(statements: Statements, sought: Sought, page: Page): Promise<Keys> {
  const hits = sought.threads === undefined ? await textHits(statements, sought) : undefined;
  if (hits === undefined) return matchingRows(statements, entryCondition(statements, sought), page);
  const slices = await countSlices(statements, sought.span, sought.combos);
  const total = sumOf(slices, 'n') + hits.length;
  if (hits.length === 0) return { total, keys: await entriesOf(statements, sought, slices, page) };
  const { limit, offset } = page;
  const named = await entriesOf(statements, sought, slices, { limit: offset + limit, offset: 0 });
  return { total, keys: [...named, ...hits].sort(newestFirst).slice(offset, offset + limit) };
}

/** The condition that rows of `entry` must meet, text included. */
export function entryCondition(statements: Statements, { span, combos, threads, text }: Sought): Condition {
  const { dialect } = statements;
  const isOf = combos && condition(dialect.isOneOf('combo', 'BIGINT'), combos);
  return allOf(
    between('started_ms', span),
    isThread(dialect, 'thread', threads),
    threads && condition('thread > 0'),
    text === undefined ? isOf : anyOf(isOf, hasText(statements, text)),
  );
}

/** Counts and sorts whatever matches. */
async function matchingRows(statements: Statements, where: Condition, { limit, offset }: Page): Promise<Keys> {
  const [counted] = await statements.all(`SELECT count(*) AS total FROM entry WHERE ${where.sql}`, ...where.values);
  const sql = `SELECT uid, started_ms, thread FROM entry WHERE ${where.sql} ${byNewest} LIMIT ? OFFSET ?`;
  const rows = await statements.all(sql, ...where.values, limit, offset);
  return { total: Number(counted?.['total']), keys: keysOf(rows) };
}

/** Goes straight to the slices in which the page lies. */
async function entriesOf(
  statements: Statements,
  { span, combos }: Sought,
  slices: readonly TimeSlice[],
  { limit, offset }: Page,
): Promise<EntryKey[]> {
  const { isOneOf } = statements.dialect;
  if (combos !== undefined && sumOf(slices, 'n') <= fewEntries) {
    // The sum keeps the planner from walking through all times.
    const few = allOf(condition(isOneOf('combo', 'BIGINT'), combos), between('started_ms', span));
    const sql = `SELECT uid, started_ms, thread FROM entry WHERE ${few.sql} ORDER BY started_ms + 0 DESC, uid DESC LIMIT ? OFFSET ?`;
    return keysOf(await statements.all(sql, ...few.values, limit, offset));
  }
  const isSought = combos && condition(isOneOf('combo + 0', 'BIGINT'), combos);
  const keys: EntryKey[] = [];
  let skipped = offset;
  for (const slice of slices) {
    if (keys.length >= limit) break;
    if (skipped >= slice.n) {
      skipped -= slice.n;
      continue;
    }
    const { sql, values } = allOf(between('started_ms', slice), isSought);
    const rows = `SELECT uid, started_ms, thread FROM entry WHERE ${sql} ${byNewest} LIMIT ? OFFSET ?`;
    keys.push(...keysOf(await statements.all(rows, ...values, limit - keys.length, skipped)));
    skipped = 0;
  }
  return keys;
}
