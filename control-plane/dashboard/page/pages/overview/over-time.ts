// Counts by minute, hour or day as series with a value at each time. What had no requests is zero, and took no time that could be told. Pure.
import type { Series } from '../../parts/plot.ts';
import { minutesOf, momentOf, type TimeRange } from '../../parts/time-range.ts';
import { parseTime } from '../../time.ts';

/** The answer of /admin/audit/stats. */
export interface Stats {
  readonly summary: Counts & Times;
  readonly buckets: readonly (Counts & Times & { readonly start: string })[];
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

interface Times {
  readonly duration_p50_ns?: number;
  readonly duration_p95_ns?: number;
  readonly first_byte_p50_ns?: number;
  readonly first_byte_p95_ns?: number;
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

export interface OverTime {
  /** Requests a minute. */
  readonly rates: readonly Series[];
  /** Nanoseconds. */
  readonly durations: readonly Series[];
  readonly firstBytes: readonly Series[];
  readonly tokens: readonly Series[];
  readonly costs: readonly Series[];
}

const errorsOf = (each: Counts): number => each.client_errors - each.refused + each.server_errors;

export function seriesOf(range: TimeRange, { summary, buckets }: Stats, usage: readonly UsageRow[]): OverTime {
  const { times } = range;
  const byTime = new Map(buckets.map((bucket) => [parseTime(bucket.start), bucket]));
  const rows = new Map(usage.map((row) => [momentOf(row.date ?? ''), row]));
  const minutes = minutesOf(range);
  const allMinutes = minutes.reduce((sum: number, each) => sum + (each ?? 0), 0);
  const rate = (label: string, color: Series['color'], of: (counts: Counts) => number): Series => ({
    label,
    color,
    whole: allMinutes === 0 ? null : of(summary) / allMinutes,
    values: times.map((time, index) => {
      const [bucket, lasted] = [byTime.get(time), minutes[index]];
      return lasted === undefined ? null : bucket === undefined ? 0 : of(bucket) / lasted;
    }),
  });
  const taken = (label: string, color: Series['color'], name: keyof Times): Series => ({
    label,
    color,
    whole: summary[name] ?? null,
    values: times.map((time) => byTime.get(time)?.[name] ?? null),
  });
  const used = (of: (row: UsageRow) => number): number[] =>
    times.map((time) => {
      const row = rows.get(time);
      return row === undefined ? 0 : of(row);
    });
  return {
    rates: [
      rate('Succeeded', 'a', ({ succeeded }) => succeeded),
      rate('Refused', 'warn', ({ refused }) => refused),
      rate('Errors', 'bad', errorsOf),
    ],
    durations: [taken('Median', 'b', 'duration_p50_ns'), taken('95th percentile', 'c', 'duration_p95_ns')],
    firstBytes: [taken('Median', 'b', 'first_byte_p50_ns'), taken('95th percentile', 'c', 'first_byte_p95_ns')],
    tokens: [
      { label: 'Input', color: 'b', values: used(({ input_tokens }) => input_tokens) },
      { label: 'Output', color: 'c', values: used(({ output_tokens }) => output_tokens) },
    ],
    costs: [{ label: 'US dollars', color: 'd', values: used(({ total_cost }) => total_cost ?? 0) }],
  };
}
