// Sums of usage records by time, kept in step with them: reports are sums of these, and of the records at the two ends of a span.
import type { Insertion, Statements } from '../database.ts';
import { dayMs, hourMs, minuteMs } from './tallies.ts';
import type { NamedColumn } from './usage-names.ts';

/** Every difference of a time zone to UTC is a number of these. */
const quarterMs = hourMs / 4;

/** The columns that sums are made for: a number of a name, or the id of a managed key itself. */
export type SumColumn = NamedColumn | 'auth_key_id';

export interface Rollup {
  readonly table: string;
  readonly keys: readonly SumColumn[];
  /** Sums of so much time each, falling. Each has a table of its own, so that the few rows of days lie close together. */
  readonly grainsMs: readonly number[];
}

const grainNames = new Map([
  [dayMs, 'day'],
  [hourMs, 'hour'],
  [quarterMs, 'quarter'],
  [minuteMs, 'minute'],
]);

/** The name of the table of sums of so much time. */
export function tableOf({ table }: Rollup, grainMs: number): string {
  return `${table}_${grainNames.get(grainMs) ?? grainMs}`;
}

/**
 * Where there are many user paths, there are hardly fewer sums than records in an hour: what is finer is then left to the records.
 * A record counts in `label` once for each of its labels, and in those of keys if it has one.
 */
export const rollups = {
  model: { table: 'usage_by_model', keys: ['model'], grainsMs: [dayMs, hourMs, quarterMs] },
  path: { table: 'usage_by_path', keys: ['path'], grainsMs: [dayMs, hourMs] },
  both: { table: 'usage_by_both', keys: ['path', 'model'], grainsMs: [dayMs] },
  label: { table: 'usage_by_label', keys: ['label'], grainsMs: [dayMs, hourMs] },
  key: { table: 'usage_by_key', keys: ['auth_key_id'], grainsMs: [dayMs, hourMs] },
  keyAndPath: { table: 'usage_by_key_path', keys: ['path', 'auth_key_id'], grainsMs: [dayMs] },
} as const satisfies Readonly<Record<string, Rollup>>;

/** Those that have sums of each minute too, which are removed after some hours: they count only where a question is about the last of them. */
export const minuteRollups: readonly Rollup[] = [rollups.model, rollups.path];

/** The grains of the sums that can answer. */
export function grainsOf(rollup: Rollup, isRecent: boolean): readonly number[] {
  return isRecent && minuteRollups.includes(rollup) ? [...rollup.grainsMs, minuteMs] : rollup.grainsMs;
}

/**
 * The summed measures. `entries`: usage records; `requests` of clients; `attempts`: calls of providers. Of records
 * without a price only `unpriced` counts them as such; their costs are 0.
 */
export const measures = [
  'entries',
  'unpriced',
  'requests',
  'attempts',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cached_input_tokens',
  'cache_write_input_tokens',
  'reasoning_tokens',
  'input_cost',
  'output_cost',
  'total_cost',
] as const;

export type Measure = (typeof measures)[number];

/** The sum of each over rows of `usage`, as SQL. */
export const amountIn = Object.fromEntries(
  measures.map((name) => {
    if (name === 'entries') return [name, 'count(*)'];
    if (name === 'unpriced') return [name, 'count(*) - count(total_cost)'];
    return [name, `coalesce(sum(${name}), 0)`];
  }),
) as Readonly<Record<Measure, string>>;

/** One usage record as the sums see it. */
export interface Measured extends Readonly<Record<Exclude<NamedColumn, 'label'>, number>> {
  readonly atMs: number;
  readonly labels: readonly number[];
  /** Empty: it has none. */
  readonly auth_key_id: string;
  readonly cacheType: string;
  /** In the order of `measures`. */
  readonly amounts: readonly number[];
}

/** Adds the records to the sums; `sign` -1 takes them off again. */
export async function sumUsage(statements: Statements, records: readonly Measured[], sign: 1 | -1): Promise<void> {
  const kinds = byKind(records);
  for (const rollup of Object.values(rollups)) {
    let sums = singleSums(rollup, kinds, sign);
    for (const grainMs of grainsOf(rollup, true).toReversed()) {
      sums = merged(sums, grainMs);
      const rows = sums.map(({ startMs, names, amounts }) => [startMs, ...names, ...amounts]);
      if (rows.length > 0) await statements.insert(insertionInto(rollup, grainMs), rows);
    }
  }
}

/** One for all records that count in the same sums: of few consumers, a batch has few kinds. */
function byKind(records: readonly Measured[]): Measured[] {
  const kinds = new Map<string, Measured & { readonly amounts: number[] }>();
  for (const record of records) {
    const { model, path, labels, cacheType, auth_key_id: key } = record;
    const atMs = record.atMs - (record.atMs % minuteMs);
    const kind = `${atMs} ${model} ${path} ${labels.join()} ${cacheType} ${key}`;
    const known = kinds.get(kind);
    if (known === undefined) kinds.set(kind, { ...record, atMs, amounts: [...record.amounts] });
    else addTo(known.amounts, record.amounts);
  }
  return [...kinds.values()];
}

function addTo(sums: number[], amounts: readonly number[]): void {
  for (let index = 0; index < amounts.length; index += 1) sums[index] = (sums[index] ?? 0) + (amounts[index] ?? 0);
}

/** A row of a table of sums. */
interface Sum {
  readonly startMs: number;
  readonly names: readonly (number | string)[];
  readonly key: string;
  readonly amounts: readonly number[];
}

function singleSums({ keys }: Rollup, records: readonly Measured[], sign: 1 | -1): Sum[] {
  const counted = keys.includes('auth_key_id') ? records.filter((record) => record.auth_key_id !== '') : records;
  return counted.flatMap((record) =>
    (keys.includes('label') ? record.labels : [0]).map((label) => {
      const names = [...keys.map((key) => (key === 'label' ? label : record[key])), record.cacheType];
      const amounts = sign === 1 ? record.amounts : record.amounts.map((amount) => -amount);
      return { startMs: record.atMs, names, key: names.join(' '), amounts };
    }),
  );
}

/** Sums of finer time added up. */
function merged(sums: readonly Sum[], grainMs: number): Sum[] {
  const rows = new Map<string, Sum & { readonly amounts: number[] }>();
  for (const { startMs: finerMs, names, key, amounts } of sums) {
    const startMs = finerMs - (finerMs % grainMs);
    const place = `${startMs} ${key}`;
    const known = rows.get(place);
    if (known === undefined) rows.set(place, { startMs, names, key, amounts: [...amounts] });
    else addTo(known.amounts, amounts);
  }
  return [...rows.values()];
}

function insertionInto(rollup: Rollup, grainMs: number): Insertion {
  const table = tableOf(rollup, grainMs);
  const numbers = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, name === 'auth_key_id' ? ('TEXT' as const) : ('BIGINT' as const)]));
  const sums = measures.map((name) => `${name} = ${table}.${name} + excluded.${name}`);
  return {
    table,
    columns: { ...numbers(['start_ms', ...rollup.keys]), cache_type: 'TEXT', ...numbers(measures) },
    tail: `ON CONFLICT (start_ms, ${rollup.keys.join(', ')}, cache_type) DO UPDATE SET ${sums.join(', ')}`,
  };
}
