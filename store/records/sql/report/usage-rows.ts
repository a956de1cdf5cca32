// Sums of usage records for each model, user path, key, label or session.
import type { Page, UsageDimension, UsageFilter, UsageRow } from '../../record-store.ts';
import type { Row, Statements } from '../database.ts';
import { dictionaries, type NamedColumn } from '../write/usage-names.ts';
import { measures } from '../write/usage-rollups.ts';
import { type SoughtUsage, seekUsage } from './usage-filter.ts';
import { pageOf } from './usage-page.ts';
import { joinSums, partSums } from './usage-parts.ts';
import { usageBySession } from './usage-sessions.ts';
import { totalsOf } from './usage-sums.ts';

/** By these columns of its dictionary the rows of a dimension are told apart; `shown`: of several texts, such as spellings of a path, one. */
const columnOf = {
  model: { column: 'model', groups: ['model', 'provider', 'provider_name'], shown: [] },
  user_path: { column: 'path', groups: ['folded_path'], shown: ['user_path'] },
  label: { column: 'label', groups: ['label'], shown: [] },
} as const satisfies Readonly<Record<string, Grouping>>;

interface Grouping {
  readonly column: NamedColumn;
  readonly groups: readonly string[];
  readonly shown: readonly string[];
}

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
  const { column, groups, shown }: Grouping = columnOf[dimension];
  const wanted = { columns: [column], measures };
  const sums = joinSums(partSums(statements, sought, wanted), wanted);
  const { table } = dictionaries[column];
  const grouped = groups.map((name) => `${table}.${name}`).join(', ');
  const selected = [
    ...measures.map((name) => `sum(sums.${name}) AS ${name}`),
    ...groups.map((name) => `${table}.${name} AS name_${name}`),
    ...shown.map((name) => `min(${table}.${name}) AS name_${name}`),
  ];
  const { total, rows } = await pageOf(statements, page, {
    sql: `SELECT ${selected.join(', ')}, count(*) OVER () AS total FROM (${sums.sql}) AS sums
      JOIN ${table} ON ${table}.id = sums.${column} WHERE sums.entries > 0 GROUP BY ${grouped}
      ORDER BY sum(sums.total_cost) DESC, sum(sums.total_tokens) DESC, ${grouped}`,
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

const sumsOfKeys = { columns: ['auth_key_id'], measures } as const;

async function usageByKey(
  statements: Statements,
  sought: SoughtUsage,
  page: Page,
): Promise<{ total: number; rows: UsageRow[] }> {
  const sums = joinSums(partSums(statements, sought, sumsOfKeys), sumsOfKeys);
  const { total, rows } = await pageOf(statements, page, {
    sql: `SELECT sums.*, count(*) OVER () AS total FROM (${sums.sql}) AS sums
      WHERE sums.entries > 0 AND sums.auth_key_id IS NOT NULL
      ORDER BY sums.total_cost DESC, sums.total_tokens DESC, sums.auth_key_id`,
    values: sums.values,
  });
  return { total, rows: rows.map((row) => ({ key: String(row['auth_key_id']), ...totalsOf(row) })) };
}
