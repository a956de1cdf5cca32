// How long requests took in buckets of time, and by minute what they became of and which models fail (see write/pace.ts).
import type { AuditStats, FailingModel, Percentiles, Span, Times } from '../../record-store.ts';
import { between, condition } from '../condition.ts';
import type { Row, Statements } from '../database.ts';
import { percentile, type TimeSteps } from '../time-steps.ts';
import { addPaceTo, noPace, type Pace, paceOf, placeOf } from '../write/pace.ts';
import { dayMs, hourMs, minuteMs } from '../write/tallies.ts';

/** A model fails when so many of its requests did in the last minutes, and at least this share of them. */
const failingSpanMs = 10 * minuteMs;
const fewestFailures = 3;
const failedShare = 0.01;
/** So many minutes in which none of its requests failed end a failure. */
const cleanMinutes = 5;

/** Those that have requests, by the index of their first edge. */
export async function paceOfBuckets(
  statements: Statements,
  userPath: string,
  edges: readonly number[],
): Promise<ReadonlyMap<number, Pace>> {
  const place = placeOf(userPath);
  const [fromMs = 0, toMs = fromMs] = [edges[0], edges.at(-1)];
  const buckets = new Map<number, Pace>();
  if (place === undefined) return buckets;
  // Where days begin between hours, hours count for the day in which they begin.
  const isEven = (grain: number): boolean => edges.every((edge) => edge % grain === 0);
  const grainMs = isByMinute(edges) ? minuteMs : ([dayMs, hourMs].find(isEven) ?? hourMs);
  const { sql, values } = between('start_ms', { fromMs, toMs });
  const rows = await statements.all(
    `SELECT * FROM pace WHERE path = ? AND grain_ms = ? AND ${sql} ORDER BY start_ms`,
    place,
    grainMs,
    ...values,
  );
  let bucket = 0;
  for (const row of rows) {
    while (Number(row['start_ms']) >= (edges[bucket + 1] ?? Number.POSITIVE_INFINITY)) bucket += 1;
    const pace = buckets.get(bucket) ?? noPace();
    buckets.set(bucket, pace);
    addPaceTo(pace, paceOf(row));
  }
  return buckets;
}

export function isByMinute(edges: readonly number[]): boolean {
  return edges.length > 1 && edges.every((edge, index) => edge === (edges[0] ?? 0) + index * minuteMs);
}

export function timesOf({ duration, firstByte }: Pick<Pace, 'duration' | 'firstByte'>): Times {
  const percentiles = (name: keyof Times, steps: TimeSteps): Times => {
    const [p50, p95] = [percentile(steps, 0.5), percentile(steps, 0.95)];
    return p50 === undefined || p95 === undefined ? {} : { [name]: { p50, p95 } satisfies Percentiles };
  };
  return { ...percentiles('duration', duration), ...percentiles('firstByte', firstByte) };
}

/** Statistics whose buckets are minutes. */
export async function minuteStats(
  statements: Statements,
  userPath: string,
  edges: readonly number[],
): Promise<AuditStats> {
  const paces = await paceOfBuckets(statements, userPath, edges);
  const whole = noPace();
  const buckets = [...paces].map(([index, pace]) => {
    addPaceTo(whole, pace);
    const { requests, succeeded, client_errors, refused, server_errors } = pace.counts;
    const counts = { requests, succeeded, clientErrors: client_errors, refused, serverErrors: server_errors };
    return { startMs: edges[index] ?? 0, ...counts, ...timesOf(pace) };
  });
  const span = { fromMs: edges[0] ?? 0, toMs: edges.at(-1) ?? 0 };
  return {
    buckets,
    ...timesOf(whole),
    providers: await providersOf(statements, userPath, span),
    failing: await failingModels(statements, userPath, span),
  };
}

async function providersOf(statements: Statements, userPath: string, span: Span): Promise<AuditStats['providers']> {
  const { sql, values } = between('start_ms', span);
  const rows = await statements.all(
    `SELECT provider_name, sum(requests) AS n, sum(duration_ns) AS ns FROM minute_target
     WHERE path = ? AND ${sql} AND provider_name <> '' GROUP BY provider_name ORDER BY n DESC, provider_name`,
    placeOf(userPath) ?? '',
    ...values,
  );
  return rows.map((row) => ({
    provider_name: String(row['provider_name']),
    requests: Number(row['n']),
    mean_duration_ns: Math.round(Number(row['ns']) / Number(row['n'])),
  }));
}

async function failingModels(statements: Statements, userPath: string, span: Span): Promise<FailingModel[]> {
  const place = placeOf(userPath) ?? '';
  const now = between('start_ms', { fromMs: Math.max(span.fromMs, span.toMs - failingSpanMs), toMs: span.toMs });
  const failing = await statements.all(
    `SELECT target, requested_model, provider_name, sum(requests) AS n, sum(failed) AS failed FROM minute_target
     WHERE path = ? AND ${now.sql} GROUP BY target, requested_model, provider_name
     HAVING sum(failed) >= ? AND sum(failed) >= sum(requests) * CAST(? AS DOUBLE PRECISION) ORDER BY failed DESC, target`,
    place,
    ...now.values,
    fewestFailures,
    failedShare,
  );
  if (failing.length === 0) return [];
  const isOne = condition(
    statements.dialect.isOneOf('target', 'TEXT'),
    failing.map(({ target }) => String(target)),
  );
  const { sql, values } = between('start_ms', span);
  const minutes = await statements.all(
    `SELECT target, start_ms, failed FROM minute_target WHERE path = ? AND ${sql} AND ${isOne.sql} ORDER BY start_ms DESC`,
    place,
    ...values,
    ...isOne.values,
  );
  const byTarget = Map.groupBy(minutes, ({ target }) => String(target));
  return failing.map((row) => ({
    requested_model: String(row['requested_model']),
    provider_name: String(row['provider_name']),
    requests: Number(row['n']),
    failed: Number(row['failed']),
    sinceMs: beginningOf(byTarget.get(String(row['target'])) ?? []),
  }));
}

/** The first minute with a failure since the last pause between failures. `minutes`: those with requests, the last first. */
function beginningOf(minutes: readonly Row[]): number {
  let [since, clean] = [0, 0];
  for (const { start_ms, failed } of minutes) {
    if (Number(failed) === 0) clean += 1;
    else [since, clean] = [Number(start_ms), 0];
    if (since > 0 && clean === cleanMinutes) break;
  }
  return since;
}
