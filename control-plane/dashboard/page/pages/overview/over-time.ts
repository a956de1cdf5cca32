// Counts by hour or day as series with a value at each time: what had no requests is zero. Pure.
import type { Series } from '../../parts/plot.ts';
import { dayStarts, nowMs, parseTime, startOfDay } from '../../time.ts';

/** The answer of /admin/audit/stats. */
export interface Stats {
  readonly start_date: string;
  readonly end_date: string;
  readonly interval: 'hour' | 'day';
  readonly summary: Counts;
  readonly buckets: readonly (Counts & { readonly start: string })[];
  readonly providers: readonly {
    readonly provider_name: string;
    readonly requests: number;
    readonly mean_duration_ns: number;
  }[];
}

interface Counts {
  readonly requests: number;
  readonly succeeded: number;
  readonly client_errors: number;
  readonly refused: number;
  readonly server_errors: number;
}

/** A row of /admin/usage. */
export interface UsageRow {
  readonly date?: string;
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly total_cost: number | null;
  readonly unpriced_requests: number;
}

const hourMs = 3_600_000;

export interface OverTime {
  /** Unix milliseconds. */
  readonly times: readonly number[];
  readonly counts: readonly Series[];
  readonly tokens: readonly Series[];
  readonly costs: readonly Series[];
}

export function seriesOf(stats: Stats, usage: readonly UsageRow[]): OverTime {
  const times = timesOf(stats);
  const buckets = new Map(stats.buckets.map((bucket) => [parseTime(bucket.start), bucket]));
  const rows = new Map(usage.map((row) => [momentOf(row.date ?? ''), row]));
  const counted = (value: (bucket: Counts) => number): number[] =>
    times.map((time) => {
      const bucket = buckets.get(time);
      return bucket === undefined ? 0 : value(bucket);
    });
  const used = (value: (row: UsageRow) => number): number[] =>
    times.map((time) => {
      const row = rows.get(time);
      return row === undefined ? 0 : value(row);
    });
  const errors = counted((each) => each.client_errors - each.refused + each.server_errors);
  return {
    times,
    counts: [
      { label: 'Succeeded', color: 'a', values: counted(({ succeeded }) => succeeded) },
      { label: 'Refused', color: 'warn', values: counted(({ refused }) => refused) },
      { label: 'Errors', color: 'bad', values: errors },
    ],
    tokens: [
      { label: 'Input', color: 'b', values: used(({ input_tokens }) => input_tokens) },
      { label: 'Output', color: 'c', values: used(({ output_tokens }) => output_tokens) },
    ],
    costs: [{ label: 'US dollars', color: 'd', values: used(({ total_cost }) => total_cost ?? 0) }],
  };
}

/** Up to now; hours of today that are still to come are no zeros. */
function timesOf({ start_date, end_date, interval }: Stats): number[] {
  const starts = dayStarts(start_date, end_date);
  if (interval === 'day') return starts;
  const times: number[] = [];
  for (let time = starts[0] ?? 0; time <= nowMs(); time += hourMs) times.push(time);
  return times;
}

/** When an hour (RFC 3339) or a day (`2030-01-31`) begins. */
function momentOf(date: string): number {
  return date.includes('T') ? parseTime(date) : startOfDay(date);
}
