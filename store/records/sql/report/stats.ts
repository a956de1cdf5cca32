// Counts of entries over time by class of status, and how long providers took (spec: Audit).
import type { AuditBucket, AuditStats, EntryFilter } from '../../record-store.ts';
import { areChanges } from '../changes.ts';
import { allOf, between, type Condition, condition } from '../condition.ts';
import type { Row, Statements } from '../database.ts';
import { belowUserPath } from '../search/sought.ts';
import { addPaceTo, noPace } from '../write/pace.ts';
import { dayMs, hourMs } from '../write/tallies.ts';
import { isByMinute, minuteStats, paceOfBuckets, timesOf } from './pace.ts';
import { partsOf } from './time-slices.ts';

/** Counts of one status class and provider in one part of the time. */
interface Sums {
  readonly atMs: number;
  readonly statusClass: number;
  readonly provider: string;
  readonly n: number;
  readonly durationNs: number;
}

/** 429 is a class of its own. */
const classOf = 'CASE combo.status_code WHEN 429 THEN 429 ELSE combo.status_code / 100 END';
const columns = `${classOf} AS class, combo.provider_name AS provider`;
const ofClients = allOf(condition("combo.asked_by = 'client'"), areChanges(false));
const groups = `GROUP BY at_ms, ${classOf}, combo.provider_name`;

export async function auditStats(
  statements: Statements,
  { userPath = '/' }: Pick<EntryFilter, 'userPath'>,
  edges: readonly number[],
): Promise<AuditStats> {
  if (isByMinute(edges)) return minuteStats(statements, userPath, edges);
  const isBelow = allOf(ofClients, belowUserPath(userPath));
  const sums: Sums[] = [];
  for (const part of partsOfBuckets(edges))
    sums.push(
      ...(part.grainMs === 0
        ? await sumEntries(statements, part, isBelow)
        : await sumTallies(statements, part, isBelow)),
    );
  const paces = await paceOfBuckets(statements, userPath, edges);
  const whole = noPace();
  for (const pace of paces.values()) addPaceTo(whole, pace);
  const buckets = bucketsOf(sums, edges).map((bucket) => {
    const pace = paces.get(edges.indexOf(bucket.startMs));
    return pace === undefined ? bucket : { ...bucket, ...timesOf(pace) };
  });
  return { buckets, ...timesOf(whole), providers: providersOf(sums), failing: [] };
}

/** Parts of which none lies in two buckets: runs of whole days or hours, and what is left at edges in between. */
function partsOfBuckets(edges: readonly number[]) {
  const isEven = (grainMs: number): boolean => edges.every((edge) => edge % grainMs === 0);
  const grainMs = [dayMs, hourMs].find(isEven);
  const [fromMs = 0, toMs = fromMs] = [edges[0], edges.at(-1)];
  if (grainMs !== undefined) return [{ fromMs, toMs, grainMs }];
  return edges.slice(1).flatMap((edge, index) => partsOf({ fromMs: edges[index] ?? 0, toMs: edge }));
}

type Part = ReturnType<typeof partsOfBuckets>[number];

async function sumTallies(statements: Statements, { grainMs, ...span }: Part, isBelow: Condition): Promise<Sums[]> {
  const { sql, values } = allOf(condition('grain_ms = ?', grainMs), between('start_ms', span), isBelow);
  const sums = `SELECT start_ms AS at_ms, ${columns}, sum(tally.n) AS n, sum(tally.duration_ns) AS ns FROM tally`;
  const rows = await statements.all(`${sums} JOIN combo ON combo.id = tally.combo WHERE ${sql} ${groups}`, ...values);
  return rows.map(sumsOf);
}

async function sumEntries(statements: Statements, { fromMs, toMs }: Part, isBelow: Condition): Promise<Sums[]> {
  const { sql, values } = allOf(between('started_ms', { fromMs, toMs }), isBelow);
  const ns = 'sum(CAST(duration_ns AS DOUBLE PRECISION)) AS ns';
  const sums = `SELECT min(started_ms) AS at_ms, ${columns}, count(*) AS n, ${ns} FROM entry`;
  const grouped = `GROUP BY ${classOf}, combo.provider_name`;
  const rows = await statements.all(`${sums} JOIN combo ON combo.id = entry.combo WHERE ${sql} ${grouped}`, ...values);
  return rows.map(sumsOf);
}

function sumsOf(row: Row): Sums {
  return {
    atMs: Number(row['at_ms']),
    statusClass: Number(row['class']),
    provider: typeof row['provider'] === 'string' ? row['provider'] : '',
    n: Number(row['n']),
    durationNs: Number(row['ns']),
  };
}

function bucketsOf(sums: readonly Sums[], edges: readonly number[]): AuditBucket[] {
  const byBucket = Map.groupBy(sums, ({ atMs }) => edges.findLastIndex((edge) => edge <= atMs));
  const buckets = [...byBucket].map(([index, within]) => {
    const count = (isOf: (statusClass: number) => boolean): number =>
      within.reduce((total, { statusClass, n }) => total + (isOf(statusClass) ? n : 0), 0);
    return {
      startMs: edges[index] ?? 0,
      requests: count(() => true),
      // A session that was opened is told as 101.
      succeeded: count((statusClass) => statusClass <= 2),
      clientErrors: count((statusClass) => statusClass === 4 || statusClass === 429),
      refused: count((statusClass) => statusClass === 429),
      serverErrors: count((statusClass) => statusClass === 5),
    };
  });
  return buckets.sort((a, b) => a.startMs - b.startMs);
}

/** Entries that reached no provider have none. */
function providersOf(sums: readonly Sums[]): AuditStats['providers'] {
  const byProvider = Map.groupBy(
    sums.filter(({ provider }) => provider !== ''),
    ({ provider }) => provider,
  );
  const rows = [...byProvider].map(([provider_name, within]) => {
    const requests = within.reduce((total, { n }) => total + n, 0);
    const durationNs = within.reduce((total, sum) => total + sum.durationNs, 0);
    return { provider_name, requests, mean_duration_ns: Math.round(durationNs / requests) };
  });
  return rows.sort((a, b) => b.requests - a.requests || (a.provider_name < b.provider_name ? -1 : 1));
}
