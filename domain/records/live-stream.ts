// The live stream of entries, which a proxy passes on: its path, and how often it says something.

export const livePath = '/admin/live';

/** How long the stream says nothing at most. Milliseconds. */
export const liveHeartbeatMs = 15_000;
