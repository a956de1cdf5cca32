// What the demo provider does wrong when it is told to, for examples of failover.
import type { Streamed } from './http.ts';
import { Refusal } from './requests.ts';

/** `context_length`: every prompt is too long. `quota`: the account is used up. `cut`: a stream ends after some words. */
export const faults = ['context_length', 'quota', 'cut'] as const;
export type Fault = (typeof faults)[number];

/** The tokens of a stream that is cut. */
const leastTokens = 5;

/** Refuses a call, where that is the fault. */
export function refuseFor(fault: Fault | undefined): void {
  if (fault === 'context_length') {
    const message = "This model's maximum context length is 1 token. Please reduce the length of the messages.";
    throw new Refusal(400, message, 'messages', 'context_length_exceeded');
  }
  if (fault === 'quota') {
    throw new Refusal(429, 'You exceeded your current quota, please check your plan.', null, 'insufficient_quota');
  }
}

/** The events of a stream; where that is the fault, it throws in their middle. */
export function* cutFor(fault: Fault | undefined, events: Iterable<Streamed>): Generator<Streamed> {
  let tokens = 0;
  for (const event of events) {
    yield event;
    if (event.isToken === true) tokens += 1;
    if (fault === 'cut' && tokens === leastTokens) throw new Error('cut on purpose');
  }
}
