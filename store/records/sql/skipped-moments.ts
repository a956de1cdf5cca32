// Pages far from the first: what lies before them is skipped by its moments, which indexes hold; to read each row of it takes five times as long.
import type { Statements } from './database.ts';
import type { PlacedPage } from './entry-keys.ts';
import type { Sought } from './sought.ts';

/** Fewer rows are skipped as fast one by one. */
const mostSkippedByRow = 2_000;
/** So many rows before the page are looked at: those of one moment are ordered otherwise than the index has them. */
const lookedBack = 200;

/**
 * The same page of a shorter span, which ends with the moment of the first row of the page. It is returned as it came where a filter
 * decides what is skipped, or too many rows have that moment.
 */
export async function withoutSkipped(
  statements: Statements,
  sought: Sought,
  page: PlacedPage,
): Promise<{ readonly sought: Sought; readonly page: PlacedPage }> {
  const { span, combos, thread } = sought;
  const { offset, after } = page;
  if (offset < mostSkippedByRow || combos !== undefined || thread !== undefined || after !== undefined)
    return { sought, page };
  const moments = await momentsBefore(statements, sought, offset);
  const moment = moments.at(-1) ?? 0;
  const same = moments.length - moments.indexOf(moment);
  if (moments.length < lookedBack || same === moments.length) return { sought, page };
  return { sought: { ...sought, span: { ...span, toMs: moment + 1 } }, page: { ...page, offset: same - 1 } };
}

/** The moments of the last rows up to the first one of the page, the newest first; fewer, where there are fewer rows. */
async function momentsBefore(statements: Statements, { span }: Sought, offset: number): Promise<number[]> {
  const part = (column: string, from: string): string =>
    `SELECT ms FROM (SELECT ${column} AS ms FROM ${from} ${column} >= ? AND ${column} < ? ORDER BY ${column} DESC LIMIT ?) AS part`;
  const sql = `${part('last_ms', 'thread WHERE')} UNION ALL ${part('started_ms', 'entry WHERE thread < 0 AND')}
    ORDER BY ms DESC LIMIT ? OFFSET ?`;
  const values = [span.fromMs, span.toMs, offset + 1];
  const rows = await statements.all(sql, ...values, ...values, lookedBack, offset + 1 - lookedBack);
  return rows.map(({ ms }) => Number(ms));
}
