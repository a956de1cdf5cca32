// Sums of usage records for each managed key.
import type { Page, UsageRow } from '../../record-store.ts';
import type { Statements } from '../database.ts';
import { measures } from '../write/usage-rollups.ts';
import type { SoughtUsage } from './usage-filter.ts';
import { pageOf } from './usage-page.ts';
import { joinSums, partSums } from './usage-parts.ts';
import { totalsOf } from './usage-sums.ts';

const wanted = { columns: ['auth_key_id'], measures } as const;

export async function usageByKey(
  statements: Statements,
  sought: SoughtUsage,
  page: Page,
): Promise<{ total: number; rows: UsageRow[] }> {
  const sums = joinSums(partSums(statements, sought, wanted), wanted);
  const { total, rows } = await pageOf(statements, page, {
    sql: `SELECT sums.*, count(*) OVER () AS total FROM (${sums.sql}) AS sums
      WHERE sums.entries > 0 AND sums.auth_key_id IS NOT NULL
      ORDER BY sums.total_cost DESC, sums.total_tokens DESC, sums.auth_key_id`,
    values: sums.values,
  });
  return { total, rows: rows.map((row) => ({ key: String(row['auth_key_id']), ...totalsOf(row) })) };
}
