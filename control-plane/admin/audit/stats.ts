// The statistics of audit entries as the admin API shows them. Pure.
import { bucketsOf, type Days, hourEdges } from '../../../domain/records/buckets.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import type { AuditStats } from '../../../store/records/record-store.ts';

/** The most days that are shown hour by hour. */
const mostHourlyDays = 3;

/** How the days are cut: into hours or days of their time zone. */
export function edgesOf(days: Days): { readonly interval: 'hour' | 'day'; readonly edges: readonly number[] } {
  return days.last - days.first < mostHourlyDays
    ? { interval: 'hour', edges: hourEdges(days) }
    : { interval: 'day', edges: bucketsOf(days, 'daily').edges };
}

/** Buckets without entries are left out. `success_rate` is absent without entries. */
export function describeStats({ buckets, providers }: AuditStats): object {
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
    },
    buckets: buckets.map(({ startMs, clientErrors, serverErrors, ...counts }) => ({
      start: timestamp(startMs),
      requests: counts.requests,
      succeeded: counts.succeeded,
      client_errors: clientErrors,
      refused: counts.refused,
      server_errors: serverErrors,
    })),
    providers,
  };
}
