// What has happened between this proxy and the store of shared limits: plain numbers, read at a scrape.

/** How things went. */
export interface FleetCounts {
  beat: number;
  ask: number;
  refill: number;
  recalls: number;
  recoveries: number;
  burials: number;
}

export function noFleetCounts(): FleetCounts {
  return { beat: 0, ask: 0, refill: 0, recalls: 0, recoveries: 0, burials: 0 };
}
