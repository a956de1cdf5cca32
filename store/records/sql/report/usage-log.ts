// Pages of the log of usage records, the newest first.
import type { Page, Span, UsageEntry, UsageFilter } from '../../record-store.ts';
import { allOf, anyOf, between, type Condition, condition, contains } from '../condition.ts';
import type { Statements } from '../database.ts';
import { usageEntries } from './usage-entries.ts';
import { numbersLike, recordCondition, type SoughtUsage, seekUsage } from './usage-filter.ts';
import { partSums, rollupFor } from './usage-parts.ts';
import { countUsage } from './usage-sums.ts';

const newestFirst = 'ORDER BY at_ms DESC, id DESC';
/** Of the table of models. */
const names = ['model', 'provider', 'provider_name'] as const;
const entries = { columns: [], measures: ['entries'] } as const;

/** `search` is looked for in request id, model, provider and session; it folds ASCII case. Undefined comes out of a thread's JSON as null. */
export async function listUsage(
  statements: Statements,
  filter: UsageFilter,
  page: Page,
  search?: string | null,
): Promise<{ total: number; entries: UsageEntry[] }> {
  const sought = await seekUsage(statements, filter);
  if (sought === undefined) return { total: 0, entries: [] };
  const term = search ?? '';
  const { total, ids } = await (term === ''
    ? pageOfAll(statements, sought, page)
    : pageOfRows(statements, allOf(matchesIn(statements, sought, sought.span), await has(statements, term)), page));
  return { total, entries: await usageEntries(statements, ids) };
}

interface Ids {
  readonly total: number;
  readonly ids: readonly number[];
}

async function has(statements: Statements, search: string): Promise<Condition> {
  const { dialect } = statements;
  const models = await numbersLike(
    statements,
    'model',
    anyOf(...names.map((column) => contains(dialect, column, search))),
  );
  return anyOf(
    models.length === 0 ? undefined : condition(dialect.isOneOf('model', 'BIGINT'), models),
    contains(dialect, 'request_id', search),
    contains(dialect, 'session_id', search),
  );
}

function matchesIn(statements: Statements, sought: SoughtUsage, span: Span): Condition {
  return allOf(between('at_ms', span), recordCondition(statements, sought, rollupFor(sought, []) !== undefined));
}

/** Counts and sorts whatever matches. */
async function pageOfRows(statements: Statements, where: Condition, { limit, offset }: Page): Promise<Ids> {
  const [counted] = await statements.all(`SELECT count(*) AS total FROM usage WHERE ${where.sql}`, ...where.values);
  return { total: Number(counted?.['total']), ids: await idsOf(statements, where, { limit, offset }) };
}

async function idsOf(statements: Statements, where: Condition, { limit, offset }: Page): Promise<number[]> {
  const sql = `SELECT id FROM usage WHERE ${where.sql} ${newestFirst} LIMIT ? OFFSET ?`;
  const rows = await statements.all(sql, ...where.values, limit, offset);
  return rows.map(({ id }) => Number(id));
}

/** Goes straight to the time in which the page lies, where sums say how many records there are. */
async function pageOfAll(statements: Statements, sought: SoughtUsage, page: Page): Promise<Ids> {
  const rollup = rollupFor(sought, []);
  if (rollup === undefined) return pageOfRows(statements, matchesIn(statements, sought, sought.span), page);
  const total = await countUsage(statements, sought);
  if (page.offset >= total) return { total, ids: [] };
  const ids = await walk(statements, sought, page, rollup.grainsMs);
  return { total, ids };
}

/** Of the records of the span of `sought`. */
async function walk(
  statements: Statements,
  sought: SoughtUsage,
  { limit, offset }: Page,
  grainsMs: readonly number[],
): Promise<number[]> {
  const ids: number[] = [];
  let skipped = offset;
  for (const part of partSums(statements, sought, { ...entries, byStart: true, grainsMs }).toReversed()) {
    const slices = await slicesOf(statements, part);
    for (const { n, ...span } of slices) {
      if (ids.length >= limit) return ids;
      if (skipped >= n) {
        skipped -= n;
        continue;
      }
      const rest = { limit: limit - ids.length, offset: skipped };
      skipped = 0;
      const finer = grainsMs.filter((grainMs) => grainMs < part.grainMs);
      ids.push(
        ...(finer.length > 0
          ? await walk(statements, { ...sought, span }, rest, finer)
          : await idsOf(statements, matchesIn(statements, sought, span), rest)),
      );
    }
  }
  return ids;
}

/** The parts of a span that have records, and how many; the latest first. */
async function slicesOf(
  statements: Statements,
  { fromMs, toMs, grainMs, select }: ReturnType<typeof partSums>[number],
): Promise<(Span & { readonly n: number })[]> {
  const rows = await statements.all(`${select.sql} ORDER BY start_ms DESC`, ...select.values);
  return rows
    .filter((row) => Number(row['entries']) > 0)
    .map((row) => ({
      fromMs: grainMs === 0 ? fromMs : Number(row['start_ms']),
      toMs: grainMs === 0 ? toMs : Number(row['start_ms']) + grainMs,
      n: Number(row['entries']),
    }));
}
