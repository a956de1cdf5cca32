// Sums of usage records for each model, user path, key, label or session.
import type { Page, UsageDimension, UsageFilter, UsageRow } from '../record-store.ts';
import type { Row, Statements } from './database.ts';
import { seekUsage } from './usage-filter.ts';
import { usageByKey } from './usage-keys.ts';
import { dictionaries, type NamedColumn } from './usage-names.ts';
import { pageOf } from './usage-page.ts';
import { joinSums, partSums } from './usage-parts.ts';
import { measures } from './usage-rollups.ts';
import { usageBySession } from './usage-sessions.ts';
import { totalsOf } from './usage-sums.ts';

const columnOf = { model: 'model', user_path: 'path', label: 'label' } as const;

/** Records without a key, a label or a session have no row there. */
export async function usageBy(
  statements: Statements,
  filter: UsageFilter,
  dimension: UsageDimension,
  page: Page,
): Promise<{ total: number; rows: UsageRow[] }> {
  const sought = await seekUsage(statements, filter);
  if (sought === undefined) return { total: 0, rows: [] };
  if (dimension === 'session') return usageBySession(statements, sought, page);
  if (dimension === 'auth_key_id') return usageByKey(statements, sought, page);
  const column: NamedColumn = columnOf[dimension];
  const wanted = { columns: [column], measures };
  const sums = joinSums(partSums(statements, sought, wanted), wanted);
  const { table, columns } = dictionaries[column];
  const names = columns.map((name) => `${table}.${name} AS name_${name}`).join(', ');
  const { total, rows } = await pageOf(statements, page, {
    sql: `SELECT sums.*, ${names}, count(*) OVER () AS total FROM (${sums.sql}) AS sums
      JOIN ${table} ON ${table}.id = sums.${column} WHERE sums.entries > 0
      ORDER BY sums.total_cost DESC, sums.total_tokens DESC, ${columns.map((name) => `${table}.${name}`).join(', ')}`,
    values: sums.values,
  });
  return { total, rows: rows.map((row) => rowOf(row, dimension)) };
}

function rowOf(row: Row, dimension: 'model' | 'user_path' | 'label'): UsageRow {
  const key = String(row[`name_${dimension}`]);
  if (dimension !== 'model') return { key, ...totalsOf(row) };
  return {
    key,
    provider: String(row['name_provider']),
    provider_name: String(row['name_provider_name']),
    ...totalsOf(row),
  };
}
