// The counts of a window as plain data and as text in a store, and the time from which they no longer matter (spec, Limits 11).
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

/**
 * The first millisecond since the Unix epoch at which the newest slice has left the ring, so that the row counts for nothing any
 * more; undefined when nothing is counted in it. Slice `n` begins at n · period · 1000 / 60.
 */
export function expiresAtMs({ periodSeconds, requests, tokens }: CounterRow): number | undefined {
  let newest = Number.NEGATIVE_INFINITY;
  for (const [slice] of requests) if (slice > newest) newest = slice;
  for (const [slice] of tokens) if (slice > newest) newest = slice;
  if (newest === Number.NEGATIVE_INFINITY) return undefined;
  return sliceStartMs(newest + sliceCount, periodSeconds);
}

/** The part of a row that is stored as JSON text; rule key and child are stored beside it. */
export interface StoredCounts {
  readonly epoch: number;
  readonly period_seconds: number;
  readonly requests: readonly Pair[];
  readonly tokens: readonly Pair[];
}

/** The text of the `StoredCounts` of a row. */
export function encodeCounts({ epoch, periodSeconds, requests, tokens }: CounterRow): string {
  const counts: StoredCounts = { epoch, period_seconds: periodSeconds, requests, tokens };
  return JSON.stringify(counts);
}

/** The row, or undefined when the text is not what `encodeCounts` writes. Members it does not know are ignored. */
export function decodeCounts(key: string, child: string, text: string): CounterRow | undefined {
  const counts = parseObject(text);
  return counts !== undefined && isCounts(counts) ? rowOf(key, child, counts) : undefined;
}

/** The row of counts that were checked before. */
export function rowOf(key: string, child: string, counts: StoredCounts): CounterRow {
  const { epoch, period_seconds: periodSeconds, requests, tokens } = counts;
  return { key, epoch, child, periodSeconds, requests, tokens };
}

function parseObject(text: string): object | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function isCounts(counts: Partial<Record<keyof StoredCounts, unknown>>): counts is StoredCounts {
  const { epoch, period_seconds: periodSeconds, requests, tokens } = counts;
  return isCount(epoch) && isCount(periodSeconds) && periodSeconds > 0 && isPairs(requests) && isPairs(tokens);
}

function isPairs(value: unknown): value is Pair[] {
  return Array.isArray(value) && value.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(isCount));
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
