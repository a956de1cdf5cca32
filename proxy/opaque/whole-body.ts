// All of a body that must be read before it is sent.
import { refusal } from '../errors.ts';
import type { Knock } from './door.ts';

/** The longest that is read. */
export interface WholeLimit {
  readonly bytes: number;
  /** The setting it comes from; empty: it cannot be set. */
  readonly setting: string;
}

/**
 * All of the body, whose bytes count in the budget for bodies as they come. Rejects with 413 `body_too_large` beyond the limit, or beyond
 * that of the door, and with 503 `overloaded` when it does not fit into the budget. Settles only while nothing else is wrong with the body.
 */
export async function wholeBody({ short, body, held }: Knock, limit: WholeLimit): Promise<Buffer> {
  if (short !== undefined) return short;
  const own = body.limit.bytes < limit.bytes ? body.limit : limit;
  const whole = await body.gather(own.bytes, undefined, (bytes) => held.grow(bytes));
  if (whole !== undefined) return whole;
  throw refusal('body_too_large', { fill: { limit: own.bytes, setting: own.setting && ` (${own.setting})` } });
}
