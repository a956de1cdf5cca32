// Sends one request to a provider.

import type { Deadlines } from './deadlines.ts';
import type { Pool } from './undici.ts';
import { type Patience, UpstreamAnswer } from './upstream-answer.ts';

export interface Outgoing {
  /** Path, the provider's base path included. */
  readonly path: string;
  readonly headers: string[];
  readonly body: Buffer;
}

/** Sends a POST. The answer is returned at once, for cancelling it; await its `ready`. */
export function send(
  pool: Pool,
  { path, headers, body }: Outgoing,
  patience: Patience,
  deadlines: Deadlines,
): UpstreamAnswer {
  const answer = new UpstreamAnswer(patience, deadlines);
  pool.dispatch({ method: 'POST', path, headers, body }, answer);
  return answer;
}
