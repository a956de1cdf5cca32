// The live stream of entries, which a proxy passes on: its path and its longest silence.

export const livePath = '/admin/live';

/** The longest time between two messages of the stream, in milliseconds. */
export const liveHeartbeatMs = 15_000;
