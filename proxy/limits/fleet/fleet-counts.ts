// What has happened between this proxy and the store of shared limits: plain numbers, read at a scrape.

/** How things went. */
export interface FleetCounts {
  beat: number;
  ask: number;
  refill: number;
  recalls: number;
  recoveries: number;
  /** Requests that have waited for the store, for how long together, and the longest, in milliseconds. */
  waits: number;
  waitedMs: number;
  longestWaitMs: number;
  /** Requests that were decided while the store was lost. */
  withoutStore: number;
}

/** Counts a request that has waited. */
export function noteWait(counts: FleetCounts, waitedMs: number): void {
  counts.waits += 1;
  counts.waitedMs += waitedMs;
  counts.longestWaitMs = Math.max(counts.longestWaitMs, waitedMs);
}

export function noFleetCounts(): FleetCounts {
  return {
    beat: 0,
    ask: 0,
    refill: 0,
    recalls: 0,
    recoveries: 0,
    waits: 0,
    waitedMs: 0,
    longestWaitMs: 0,
    withoutStore: 0,
  };
}
