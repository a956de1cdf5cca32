// Sums of usage records for each managed key. No sums are kept of keys: they are made of the records of the span.
import type { Page, UsageRow } from '../record-store.ts';
import { allOf, between, condition } from './condition.ts';
import type { Statements } from './database.ts';
import { recordCondition, type SoughtUsage } from './usage-filter.ts';
import { pageOf } from './usage-page.ts';
import { amountIn } from './usage-parts.ts';
import { measures } from './usage-rollups.ts';
import { totalsOf } from './usage-sums.ts';

export async function usageByKey(
  statements: Statements,
  sought: SoughtUsage,
  page: Page,
): Promise<{ total: number; rows: UsageRow[] }> {
  const { sql, values } = allOf(
    condition('auth_key_id IS NOT NULL'),
    between('at_ms', sought.span),
    recordCondition(statements, sought, false),
  );
  const sums = measures.map((name) => `${amountIn[name]} AS ${name}`).join(', ');
  const { total, rows } = await pageOf(statements, page, {
    sql: `SELECT sums.*, count(*) OVER () AS total FROM (SELECT auth_key_id, ${sums} FROM usage WHERE ${sql} GROUP BY auth_key_id) AS sums
      ORDER BY sums.total_cost DESC, sums.total_tokens DESC, sums.auth_key_id`,
    values,
  });
  return { total, rows: rows.map((row) => ({ key: String(row['auth_key_id']), ...totalsOf(row) })) };
}
