// One page of rows that know how many of them there are.
import type { Page } from '../../record-store.ts';
import type { Condition } from '../condition.ts';
import type { Row, Statements } from '../database.ts';

/** `select`: its rows have the number of all rows as `total`. */
export async function pageOf(
  statements: Statements,
  { limit, offset }: Page,
  { sql, values }: Condition,
): Promise<{ readonly total: number; readonly rows: readonly Row[] }> {
  const ask = (most: number, skipped: number): Promise<Row[]> =>
    statements.all(`${sql} LIMIT ? OFFSET ?`, ...values, most, skipped);
  const rows = await ask(limit, offset);
  // Beyond the last page no row says it.
  const [first] = rows.length > 0 || offset === 0 ? rows : await ask(1, 0);
  return { total: Number(first?.['total'] ?? 0), rows };
}
