// Removes usage records that were kept for their time, a portion at a time, and takes them off the sums.
import type { Row, Statements } from '../database.ts';
import { dayMs } from './tallies.ts';
import { amountsOf } from './usage-insert.ts';
import { dictionaries, type NamedColumn } from './usage-names.ts';
import { grainsOf, type Measured, measures, rollups, sumUsage, tableOf } from './usage-rollups.ts';

const columns = [
  'id',
  'at_ms',
  'model',
  'path',
  'auth_key_id',
  'cache_type',
  ...measures.filter((name) => name !== 'entries' && name !== 'unpriced'),
];

/** The oldest first. Gives how many were removed. */
export async function pruneUsage(statements: Statements, beforeMs: number, most: number): Promise<number> {
  const sql = `SELECT ${columns.join(', ')} FROM usage WHERE at_ms < ? ORDER BY at_ms, id LIMIT ?`;
  const old = await statements.all(sql, beforeMs, most);
  if (old.length === 0) return 0;
  const { isOneOf } = statements.dialect;
  const ids = old.map(({ id }) => Number(id));
  const labelled = await statements.all(
    `SELECT usage, label FROM usage_label WHERE ${isOneOf('usage', 'BIGINT')}`,
    ids,
  );
  const labels = Map.groupBy(labelled, ({ usage }) => Number(usage));
  const records = old.map((row) => measuredOf(row, labels.get(Number(row['id'])) ?? []));
  await sumUsage(statements, records, -1);
  const lastMs = records.at(-1)?.atMs ?? 0;
  for (const rollup of Object.values(rollups))
    for (const grainMs of grainsOf(rollup, true))
      await statements.run(`DELETE FROM ${tableOf(rollup, grainMs)} WHERE start_ms <= ? AND entries <= 0`, lastMs);
  await statements.run(`DELETE FROM usage_label WHERE ${isOneOf('usage', 'BIGINT')}`, ids);
  await statements.run(`DELETE FROM usage WHERE ${isOneOf('id', 'BIGINT')}`, ids);
  const removedOf = (pick: (record: Measured) => readonly number[]): number[] => [...new Set(records.flatMap(pick))];
  await forget(
    statements,
    'model',
    removedOf(({ model }) => [model]),
  );
  await forget(
    statements,
    'path',
    removedOf(({ path }) => [path]),
  );
  await forget(
    statements,
    'label',
    removedOf((record) => record.labels),
  );
  return ids.length;
}

function measuredOf(row: Row, labels: readonly Row[]): Measured {
  const key = row['auth_key_id'];
  return {
    atMs: Number(row['at_ms']),
    model: Number(row['model']),
    path: Number(row['path']),
    auth_key_id: typeof key === 'string' ? key : '',
    cacheType: String(row['cache_type']),
    labels: labels.map(({ label }) => Number(label)),
    amounts: amountsOf(row),
  };
}

/** Removes those names that no record has any more: then no day has a sum of them. */
async function forget(statements: Statements, column: NamedColumn, numbers: readonly number[]): Promise<void> {
  const { isOneOf } = statements.dialect;
  const sums = tableOf(rollups[column], dayMs);
  const sql = `SELECT DISTINCT ${column} AS number FROM ${sums} WHERE ${isOneOf(column, 'BIGINT')}`;
  const left = new Set((await statements.all(sql, numbers)).map(({ number }) => Number(number)));
  const gone = numbers.filter((number) => !left.has(number));
  if (gone.length > 0)
    await statements.run(`DELETE FROM ${dictionaries[column].table} WHERE ${isOneOf('id', 'BIGINT')}`, gone);
}
