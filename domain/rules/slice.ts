// The time slices of a sliding window (spec, Limits 6).

/** A window is a ring of this many slices of a sixtieth of its period: the one that holds now and the 60 before it. */
export const sliceCount = 61;

/** The number of the slice that holds `nowMs` (integer, below 10^14): floor(nowMs · 60 / (1000 · period)), exact. */
export function sliceAt(nowMs: number, periodSeconds: number): number {
  return Math.floor((nowMs * 3) / (50 * periodSeconds));
}

/** The first whole millisecond of a slice. */
export function sliceStartMs(slice: number, periodSeconds: number): number {
  return Math.ceil((slice * 50 * periodSeconds) / 3);
}
