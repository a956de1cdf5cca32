// Totals of usage records, and sums of them by buckets of time (spec: What the service does 8).
import type { UsageFilter, UsageTotals } from '../../record-store.ts';
import type { Row, Statements } from '../database.ts';
import { grainsOf, type Measure, measures } from '../write/usage-rollups.ts';
import { type SoughtUsage, seekUsage } from './usage-filter.ts';
import { joinSums, partSums, rollupFor } from './usage-parts.ts';

const wanted = { columns: [], measures } as const;

/** Costs are exact up to 2^53 nano-dollars (9 million dollars), and the nearest number of JavaScript beyond. */
export async function usageTotals(statements: Statements, filter: UsageFilter): Promise<UsageTotals> {
  const sought = await seekUsage(statements, filter);
  return totalsOf(sought === undefined ? {} : await sumsOf(statements, sought));
}

async function sumsOf(statements: Statements, sought: SoughtUsage): Promise<Row> {
  const { sql, values } = joinSums(partSums(statements, sought, wanted), wanted);
  const [row = {}] = await statements.all(sql, ...values);
  return row;
}

/** How many records match. */
export async function countUsage(statements: Statements, sought: SoughtUsage): Promise<number> {
  const counted = { columns: [], measures: ['entries'] } as const;
  const { sql, values } = joinSums(partSums(statements, sought, counted), counted);
  const [row] = await statements.all(sql, ...values);
  return Number(row?.['entries'] ?? 0);
}

/** A row of `measures`, none of which need be there. */
export function totalsOf(row: Row): UsageTotals {
  const amount = (name: Measure): number => Number(row[name] ?? 0);
  const { unpriced, input_cost, output_cost, total_cost, ...counts } = Object.fromEntries(
    measures.map((name) => [name, amount(name)]),
  ) as Readonly<Record<Measure, number>>;
  const cost = (sum: number): number | null => (unpriced < counts.entries ? sum : null);
  return {
    ...counts,
    input_cost: cost(input_cost),
    output_cost: cost(output_cost),
    total_cost: cost(total_cost),
    unpriced,
  };
}

/** `edges`: where buckets begin, rising, from the start of the span to its end. Rows of buckets that have records. */
export async function usageBuckets(
  statements: Statements,
  filter: UsageFilter,
  edges: readonly number[],
): Promise<readonly (UsageTotals & { readonly bucket: number })[]> {
  const [fromMs = 0, toMs = fromMs] = [edges[0], edges.at(-1)];
  const sought = await seekUsage(statements, { ...filter, span: { fromMs, toMs } });
  if (sought === undefined) return [];
  const rollup = rollupFor(sought, []);
  const grains = rollup === undefined ? [] : grainsOf(rollup, sought.isRecent);
  const grainMs = grains.find((grain) => edges.every((edge) => edge % grain === 0));
  return grainMs === undefined
    ? sumsPerBucket(statements, sought, edges)
    : sumsByStart(statements, sought, edges, grainMs);
}

/** Edges lie at the starts of kept sums: one statement gives them all. */
async function sumsByStart(
  statements: Statements,
  sought: SoughtUsage,
  edges: readonly number[],
  grainMs: number,
): Promise<(UsageTotals & { readonly bucket: number })[]> {
  const [part] = partSums(statements, sought, { ...wanted, byStart: true, grainsMs: [grainMs] });
  if (part === undefined) return [];
  const rows = await statements.all(`${part.select.sql} ORDER BY start_ms`, ...part.select.values);
  const sums = new Map<number, Row>();
  let bucket = 0;
  for (const row of rows) {
    while (Number(row['start_ms']) >= (edges[bucket + 1] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    const sum = sums.get(bucket) ?? {};
    sums.set(bucket, Object.fromEntries(measures.map((name) => [name, Number(sum[name] ?? 0) + Number(row[name])])));
  }
  return [...sums].map(([index, row]) => ({ bucket: index, ...totalsOf(row) }));
}

async function sumsPerBucket(
  statements: Statements,
  sought: SoughtUsage,
  edges: readonly number[],
): Promise<(UsageTotals & { readonly bucket: number })[]> {
  const rows: (UsageTotals & { readonly bucket: number })[] = [];
  for (const [bucket, fromMs] of edges.slice(0, -1).entries()) {
    const span = { fromMs, toMs: edges[bucket + 1] ?? fromMs };
    if (span.fromMs >= span.toMs) continue;
    const totals = totalsOf(await sumsOf(statements, { ...sought, span }));
    if (totals.entries > 0) rows.push({ bucket, ...totals });
  }
  return rows;
}
