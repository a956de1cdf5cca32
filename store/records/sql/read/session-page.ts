// Pages of threads: those with matching entries, each once, the one with the newest match first.

import type { AuditSession, EntryFilter, SessionPage } from '../../record-store.ts';
import { allOf, between, type Condition, condition } from '../condition.ts';
import type { Statements } from '../database.ts';
import { countSlices, sumOf } from '../report/time-slices.ts';
import { isThread, type Sought, seek } from '../search/sought.ts';
import { textHits } from '../search/text-hits.ts';
import { behind, byNewest, type EntryKey, keysOf, newestFirst, type PlacedPage, placeOf } from './entry-keys.ts';
import { listedEntries } from './listed-entries.ts';
import { entryCondition, fewEntries } from './log-page.ts';
import { withoutSkipped } from './skipped-moments.ts';
import { countThreads, fewOfCombos, manyEntries, newestMatches, newestOf, type Wanted } from './thread-source.ts';

/** Fewer than a page has: who walks through entries without a session, the newest first, walks through all of them. */
const fewSingles = 25;

interface Keys {
  readonly total: number;
  readonly keys: readonly EntryKey[];
}

export async function listSessions(
  statements: Statements,
  filter: EntryFilter,
  { limit, offset, after }: SessionPage,
): Promise<{ total: number; sessions: AuditSession[] }> {
  const sought = await seek(statements, filter);
  if (sought === undefined) return { total: 0, sessions: [] };
  const place = after === undefined ? undefined : await placeOf(statements, after);
  const { total, keys } = await pageOf(statements, sought, { limit, offset, after: place });
  const listed = await listedEntries(
    statements,
    keys.map(({ uid }) => uid),
  );
  const sessions = listed.map(({ entry, threadEntries }) => ({ request_count: threadEntries, latest: entry }));
  return { total, sessions };
}

async function pageOf(statements: Statements, sought: Sought, page: PlacedPage): Promise<Keys> {
  const isTextOfThread = sought.threads !== undefined && sought.text !== undefined;
  const hits = isTextOfThread ? undefined : await textHits(statements, sought);
  if (hits === undefined) return matchingThreads(statements, entryCondition(statements, sought), page);
  const looked = newestOfThreads([...hits, ...(await threadsBeyond(statements, sought))]);
  const known = await newestOf(
    statements,
    sought,
    [...looked.keys()].filter((thread) => thread > 0),
  );
  const alsoCounted = newestOfThreads(known).size;
  const isAll = sought.threads === undefined;
  const single = isAll ? sumOf(await countSlices(statements, sought.span, sought.combos), 'single') : 0;
  const sources = { threads: await countThreads(statements, sought), single };
  const total = sources.threads + single + looked.size - alsoCounted;
  const { limit, offset, after } = page;
  if (looked.size === 0) return { total, keys: await newest(statements, sought, sources, page) };
  const most = { limit: offset + limit + alsoCounted, offset: 0, after };
  const others = (await newest(statements, sought, sources, most)).filter(({ thread }) => !looked.has(thread));
  const seen = [...newestOfThreads([...looked.values(), ...known]).values()];
  const isBehind = (key: EntryKey): boolean => after === undefined || newestFirst(after, key) < 0;
  const merged = [...seen.filter(isBehind), ...others].sort(newestFirst);
  return { total, keys: merged.slice(offset, offset + limit) };
}

/** Of each thread the newest of these. */
function newestOfThreads(keys: readonly EntryKey[]): ReadonlyMap<number, EntryKey> {
  const found = new Map<number, EntryKey>();
  for (const key of keys) {
    const known = found.get(key.thread);
    if (known === undefined || newestFirst(key, known) < 0) found.set(key.thread, key);
  }
  return found;
}

/** How many sessions, and entries without one, match. */
interface Sources {
  readonly threads: number;
  readonly single: number;
}

/** Sessions and entries without one, merged. */
async function newest(
  statements: Statements,
  sought: Sought,
  { threads, single }: Sources,
  askedPage: PlacedPage,
): Promise<EntryKey[]> {
  const { within, page } = await withoutSkipped(statements, sought, askedPage);
  const parts = [
    threads === 0 ? [] : newestMatches(statements, sought, { within, after: page.after }),
    single === 0 ? [] : newestSingles(statements, sought, { single, within, after: page.after }),
  ].flat();
  if (parts.length === 0) return [];
  const limited = statements.dialect.mergesUnions ? parts : parts.map((part) => newestPart(part, page));
  const sql = `${limited.map((part) => part.sql).join(' UNION ALL ')} ${byNewest} LIMIT ? OFFSET ?`;
  const values = limited.flatMap((part) => part.values);
  return keysOf(await statements.all(sql, ...values, page.limit, page.offset));
}

/** As many of a part as the page may need. */
function newestPart({ sql, values }: Condition, { limit, offset }: PlacedPage): Condition {
  return condition(
    `SELECT thread, started_ms, uid FROM (${sql} ${byNewest} LIMIT ?) AS part`,
    ...values,
    offset + limit,
  );
}

function newestSingles(
  statements: Statements,
  { combos, comboEntries }: Sought,
  { single, within, after }: Wanted & { readonly single: number },
): Condition {
  const isFew =
    combos !== undefined && single <= fewEntries && comboEntries <= (single < fewSingles ? manyEntries : fewOfCombos);
  // Sums keep the planner from an index.
  const [combo, time] = isFew ? ['combo', 'started_ms + 0'] : ['combo + 0', 'started_ms'];
  const isOf = combos && condition(statements.dialect.isOneOf(combo, 'BIGINT'), combos);
  const { sql, values } = allOf(condition('thread < 0'), between(time, within), isOf, behind(after, [time, 'uid']));
  return condition(`SELECT thread, ${time} AS started_ms, uid FROM entry WHERE ${sql}`, ...values);
}

/** Groups and sorts whatever matches. */
async function matchingThreads(
  statements: Statements,
  where: Condition,
  { limit, offset, after }: PlacedPage,
): Promise<Keys> {
  const ranked = `SELECT uid, started_ms, thread, row_number() OVER (PARTITION BY thread ${byNewest}) AS place
    FROM entry WHERE ${where.sql}`;
  const [counted] = await statements.all(
    `SELECT count(DISTINCT thread) AS total FROM entry WHERE ${where.sql}`,
    ...where.values,
  );
  const isNewest = allOf(condition('place = 1'), behind(after));
  const sql = `SELECT uid, started_ms, thread FROM (${ranked}) AS found WHERE ${isNewest.sql} ${byNewest} LIMIT ? OFFSET ?`;
  const rows = await statements.all(sql, ...where.values, ...isNewest.values, limit, offset);
  return { total: Number(counted?.['total']), keys: keysOf(rows) };
}

/** For each thread, or facet, that matches and goes on after the end of the span, its newest entry in the span, when there is one. */
async function threadsBeyond(statements: Statements, { combos, span, threads }: Sought): Promise<EntryKey[]> {
  const lasts = condition('part.last_ms >= ? AND part.first_ms < ?', span.toMs, span.toMs);
  const inSpan = between('inner_entry.started_ms', span);
  const [table, id] = combos === undefined ? ['thread', 'part.id'] : ['facet', 'part.thread'];
  const isOf = combos && condition(statements.dialect.isOneOf('part.combo + 0', 'BIGINT'), combos);
  const isSame = combos === undefined ? '' : ' AND inner_entry.combo = part.combo';
  const newestUid = `SELECT inner_entry.uid FROM entry AS inner_entry
    WHERE inner_entry.thread > 0 AND inner_entry.thread = ${id}${isSame} AND ${inSpan.sql} ${byNewest} LIMIT 1`;
  const where: Condition = allOf(lasts, isOf, isThread(statements.dialect, id, threads));
  // Two statements: PostgreSQL would read all entries to join them with what it does not know.
  const rows = await statements.all(
    `SELECT (${newestUid}) AS uid FROM ${table} AS part WHERE ${where.sql}`,
    ...inSpan.values,
    ...where.values,
  );
  const uids = rows.flatMap(({ uid }) => (typeof uid === 'string' ? [uid] : []));
  if (uids.length === 0) return [];
  const isFound = statements.dialect.isOneOf('uid', 'TEXT');
  return keysOf(await statements.all(`SELECT uid, started_ms, thread FROM entry WHERE ${isFound}`, uids));
}
