// The body of a request that is refused before it: a short one that comes at once is read all the same, so that its record says what it asked
// for.
import { Refusal, refusal } from '../errors.ts';
import type { Exchange } from '../http/exchange.ts';

/** A body is read up to this many bytes: a refused request must cost little. */
const shortBytes = 16 * 1024;
/** How long it is waited for, in milliseconds: nearly all clients send it with the head. */
const patienceMs = 200;

/** After these nothing more can be read of the connection. */
const unreadable: ReadonlySet<string | null> = new Set(['malformed_request', 'request_timeout', 'client_left']);

/** Whether a body that is refused is read all the same. */
export function isShort({ head }: Exchange): boolean {
  return !head.chunked && !head.expectsContinue && (head.contentLength ?? 0) <= shortBytes;
}

/**
 * The subject of a request that is refused before its body, as `read` returns it. Undefined when it cannot be read, or
 * does not come at once: the limits of its sender then answer first. Rejects when the client has left, or sends bytes
 * that are not HTTP.
 */
export async function foreseen<Asked>(
  exchange: Exchange,
  read: () => Asked | Promise<Asked>,
): Promise<Asked | undefined> {
  const late = refusal('request_timeout');
  const timer = setTimeout(() => exchange.waiting?.broken?.(late), patienceMs);
  try {
    return await read();
  } catch (error) {
    const isOver = exchange.gone || (error !== late && error instanceof Refusal && unreadable.has(error.code));
    if (isOver || !(error instanceof Refusal)) throw error;
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
