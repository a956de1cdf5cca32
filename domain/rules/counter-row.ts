// The counts of a window as plain data, and the time from which they no longer matter (spec, Limits 11).
import { sliceCount, sliceStartMs } from './slice.ts';

/** Slices as stored: number of the slice, what was counted in it. */
export type Pair = readonly [slice: number, count: number];

/** One window as stored. It belongs to (rule key, epoch, child); gauges are never stored. Empty lists: nothing is counted any more. */
export interface CounterRow {
  readonly key: string;
  readonly epoch: number;
  /** Full path of the child of a template, else empty. */
  readonly child: string;
  readonly periodSeconds: number;
  /** Oldest first. */
  readonly requests: readonly Pair[];
  readonly tokens: readonly Pair[];
}

/** A row on its way into a store. */
export interface CounterText {
  readonly key: string;
  readonly child: string;
  /** As `encodeCounts` writes it. */
  readonly counts: string;
  /** Undefined: nothing is counted, so the row is deleted. */
  readonly expiresAtMs: number | undefined;
}

/** The first millisecond since the Unix epoch at which this slice has left the ring. Slice `n` begins at n · period · 1000 / 60. */
export function leavesRingAtMs(slice: number, periodSeconds: number): number {
  return sliceStartMs(slice + sliceCount, periodSeconds);
}
