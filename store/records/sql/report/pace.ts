// How long requests took in buckets of time, and by minute what they became of and which models fail (see write/pace.ts).
import type { AuditStats, FailingModel, Percentiles, Times } from '../../record-store.ts';
import { between } from '../condition.ts';
import type { Statements } from '../database.ts';
import { percentile, type TimeSteps } from '../time-steps.ts';
import { addPaceTo, noPace, type Pace, paceOf, placeOf } from '../write/pace.ts';
import { hourMs, minuteMs } from '../write/tallies.ts';

/** A model fails when so many of its requests did in the last minutes, and at least this share of them. */
const failingMinutes = 10;
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
  const { sql, values } = between('start_ms', { fromMs, toMs });
  const rows = await statements.all(
    `SELECT * FROM pace WHERE path = ? AND grain_ms = ? AND ${sql} ORDER BY start_ms`,
    place,
    isByMinute(edges) ? minuteMs : hourMs,
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
  return { buckets, ...timesOf(whole), providers: providersOf(whole), failing: failingModels(paces, edges) };
}

function providersOf({ answered }: Pace): AuditStats['providers'] {
  const byProvider = Map.groupBy(answered.values(), ({ provider }) => provider);
  byProvider.delete('');
  const rows = [...byProvider].map(([provider_name, some]) => {
    const requests = some.reduce((sum, each) => sum + each.requests, 0);
    const tookNs = some.reduce((sum, { took }) => sum + took, 0);
    return { provider_name, requests, mean_duration_ns: Math.round(tookNs / requests) };
  });
  return rows.sort((a, b) => b.requests - a.requests || (a.provider_name < b.provider_name ? -1 : 1));
}

function failingModels(paces: ReadonlyMap<number, Pace>, edges: readonly number[]): FailingModel[] {
  const recent = noPace();
  for (const [index, pace] of paces) if (index >= edges.length - 1 - failingMinutes) addPaceTo(recent, pace);
  const failing = [...recent.answered].filter(
    ([, { requests, failed }]) => failed >= fewestFailures && failed >= requests * failedShare,
  );
  const latest = [...paces].toReversed();
  const rows = failing.map(([key, { model, provider, requests, failed }]) => {
    const minutes = latest.flatMap(([index, { answered }]) => {
      const each = answered.get(key);
      return each === undefined ? [] : [{ startMs: edges[index] ?? 0, failed: each.failed }];
    });
    return { requested_model: model, provider_name: provider, requests, failed, sinceMs: beginningOf(minutes) };
  });
  return rows.sort((a, b) => b.failed - a.failed || (a.requested_model < b.requested_model ? -1 : 1));
}

/** The first minute with a failure since the last pause between failures. `minutes`: those with requests, the last first. */
function beginningOf(minutes: readonly { readonly startMs: number; readonly failed: number }[]): number {
  let [since, clean] = [0, 0];
  for (const { startMs, failed } of minutes) {
    if (failed === 0) clean += 1;
    else [since, clean] = [startMs, 0];
    if (since > 0 && clean === cleanMinutes) break;
  }
  return since;
}
