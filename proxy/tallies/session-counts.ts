// What is counted of sessions over WebSocket.

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

/** What is counted of sessions: how many are open, and since the start, how they ended. */
export interface SessionCounts {
  readonly open: number;
  readonly ended: Readonly<Record<SessionEnd, number>>;
}
