// Sends one request to a provider.
import type { CallFacts } from './call-deadline.ts';
import type { ClientPool } from './client-pool.ts';
import type { Deadlines } from './deadlines.ts';
import type { Patience } from './patience.ts';
import { UpstreamAnswer } from './upstream-answer.ts';

export interface Outgoing {
  /** Path, the provider's base path included. */
  readonly path: string;
  readonly headers: string[];
  readonly body: Buffer;
  readonly facts: CallFacts;
}

/** Sends a POST. The answer is returned at once, for cancelling it; `whenReady` tells what has come of it. */
export function send(
  pool: ClientPool,
  { path, headers, body, facts }: Outgoing,
  patience: Patience,
  deadlines: Deadlines,
): UpstreamAnswer {
  const answer = new UpstreamAnswer(patience, deadlines, facts);
  // Not "blocking": a client has one call at a time, so nothing waits for the head of its answer.
  const options = { method: 'POST', path, headers, body, blocking: false } as const;
  if (facts.isFresh) pool.dispatchFresh(options, answer);
  else pool.dispatch(options, answer);
  return answer;
}
