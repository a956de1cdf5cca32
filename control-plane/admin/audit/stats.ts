// The statistics of audit entries as the admin API shows them. Pure.
import { bucketsOf, type Days, hourEdges, minuteEdges, spanOf } from '../../../domain/records/buckets.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import type { AuditStats } from '../../../store/records/record-store.ts';
import { describeTimes } from '../records/times.ts';

/** The most days that are shown hour by hour. */
const mostHourlyDays = 3;

/** How the time is cut: into minutes, or into hours or days of its time zone. */
export function edgesOf(days: Days): {
  readonly interval: 'minute' | 'hour' | 'day';
  readonly edges: readonly number[];
} {
  if (days.minutes !== undefined) return { interval: 'minute', edges: minuteEdges(spanOf(days)) };
  return days.last - days.first < mostHourlyDays
    ? { interval: 'hour', edges: hourEdges(days) }
    : { interval: 'day', edges: bucketsOf(days, 'daily').edges };
}

/** Buckets without requests are left out. `success_rate` is absent without requests, `failing` where there are no minutes. */
export function describeStats({ buckets, providers, failing, ...times }: AuditStats, interval: string): object {
  const sum = (name: 'requests' | 'succeeded' | 'clientErrors' | 'refused' | 'serverErrors'): number =>
    buckets.reduce((total, bucket) => total + bucket[name], 0);
  const requests = sum('requests');
  const succeeded = sum('succeeded');
  return {
    summary: {
      requests,
      succeeded,
      client_errors: sum('clientErrors'),
      refused: sum('refused'),
      server_errors: sum('serverErrors'),
      ...(requests === 0 ? {} : { success_rate: succeeded / requests }),
      ...describeTimes(times),
    },
    buckets: buckets.map(({ startMs, clientErrors, serverErrors, ...counts }) => ({
      start: timestamp(startMs),
      requests: counts.requests,
      succeeded: counts.succeeded,
      client_errors: clientErrors,
      refused: counts.refused,
      server_errors: serverErrors,
      ...describeTimes(counts),
    })),
    providers,
    ...(interval === 'minute'
      ? { failing: failing.map(({ sinceMs, ...model }) => ({ ...model, since: timestamp(sinceMs) })) }
      : {}),
  };
}
