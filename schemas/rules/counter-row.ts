// What a window has counted, as plain data on its way to a store and back (spec, Limits 11).

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
