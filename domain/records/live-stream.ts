// What both planes know of the live stream of entries, which a proxy passes on.

export const livePath = '/admin/live';

/** How long the stream says nothing at most. Milliseconds. */
export const liveHeartbeatMs = 15_000;
