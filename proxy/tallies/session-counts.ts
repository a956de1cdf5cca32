// Counts of sessions over WebSocket.

/** Who closed, or what did. */
export const sessionEnds = [
  'client',
  'provider',
  'client_lost',
  'provider_lost',
  'too_large',
  'protocol',
  'message_timeout',
  'overloaded',
  'key_revoked',
  'session_max',
  'draining',
] as const;
export type SessionEnd = (typeof sessionEnds)[number];

/** The number of open sessions and, since the start, of ended ones by their end. */
export interface SessionCounts {
  readonly open: number;
  readonly ended: Readonly<Record<SessionEnd, number>>;
}
