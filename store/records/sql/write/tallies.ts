// Counts of entries by hour and by day: totals and statistics are sums of them, and of the entries at the two ends of a span.
import type { Insertion, Statements } from '../database.ts';

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
export const grains = [hourMs, dayMs] as const;

const tallies: Insertion = {
  table: 'tally',
  columns: {
    grain_ms: 'BIGINT',
    start_ms: 'BIGINT',
    combo: 'BIGINT',
    n: 'BIGINT',
    single: 'BIGINT',
    duration_ns: 'DOUBLE PRECISION',
  },
  tail: `ON CONFLICT (grain_ms, start_ms, combo) DO UPDATE SET n = tally.n + excluded.n, single = tally.single + excluded.single,
    duration_ns = tally.duration_ns + excluded.duration_ns`,
};

/** The facts of an entry that tallies count. */
export interface Tallied {
  readonly startedMs: number;
  readonly durationNs: number;
  readonly thread: number;
  readonly combo: number;
}

/** Counts entries; `sign` -1 takes them off again. */
export async function tally(statements: Statements, entries: readonly Tallied[], sign: 1 | -1): Promise<void> {
  const sums = new Map<string, [grain: number, start: number, combo: number, n: number, single: number, ns: number]>();
  for (const { startedMs, durationNs, thread, combo } of entries) {
    for (const grain of grains) {
      const start = startedMs - (startedMs % grain);
      const key = `${grain} ${start} ${combo}`;
      const sum = sums.get(key) ?? [grain, start, combo, 0, 0, 0];
      sums.set(key, sum);
      sum[3] += sign;
      if (thread < 0) sum[4] += sign;
      sum[5] += sign * durationNs;
    }
  }
  if (sums.size > 0) await statements.insert(tallies, [...sums.values()]);
}
