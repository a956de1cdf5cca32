// Sends one request to a provider.

import type { ClientPool } from './client-pool.ts';
import type { Deadlines } from './deadlines.ts';
import type { Patience } from './patience.ts';
import { UpstreamAnswer } from './upstream-answer.ts';

export interface Outgoing {
  /** Path, the provider's base path included. */
  readonly path: string;
  readonly headers: string[];
  readonly body: Buffer;
}

/** Sends a POST. The answer is returned at once, for cancelling it; `whenReady` tells what has come of it. */
export function send(
  pool: ClientPool,
  { path, headers, body }: Outgoing,
  patience: Patience,
  deadlines: Deadlines,
): UpstreamAnswer {
  const answer = new UpstreamAnswer(patience, deadlines);
  // Not "blocking": a client has one call at a time, so nothing waits for the head of its answer.
  pool.dispatch({ method: 'POST', path, headers, body, blocking: false }, answer);
  return answer;
}
