// Stage 0: the client's body, in its own bytes, within the limit.
import { refusal } from '../errors.ts';
import type { Exchange } from '../request/exchange.ts';

const json = /^application\/json\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i;

/** What limits the bodies of models' endpoints. */
const bodyLimit = 'server.body_limit';

/** First size of the buffer for a body of undeclared length. */
const firstBytes = 16 * 1024;

/**
 * Reads the whole body of a JSON request. Throws 415 for other media types or encodings and 413 beyond `limitBytes`
 * (before reading, when the length is declared). Rejects when the client leaves.
 */
export async function receive(exchange: Exchange, limitBytes: number): Promise<Buffer> {
  const { contentType, contentEncoding } = exchange.head;
  checkMediaType(contentType, contentEncoding);
  return receiveBytes(exchange, limitBytes);
}

/** Reads the whole body, whatever it is. Throws 413 beyond `limitBytes`, which `setting` has set; rejects when the client leaves. */
export async function receiveBytes(exchange: Exchange, limitBytes: number, setting = bodyLimit): Promise<Buffer> {
  const { contentLength } = exchange.head;
  let body: Buffer | undefined;
  let length = 0;
  // One chunk is the rule, and is kept as it is. More are copied into one buffer, however small they are.
  await read(exchange, limitBytes, setting, (chunk) => {
    if (body === undefined) body = chunk;
    else body = append(body, length, chunk, contentLength);
    length += chunk.length;
  });
  return body?.subarray(0, length) ?? Buffer.alloc(0);
}

/** Reads a body nobody asked for, so that it is not taken for the next request. Throws 413 beyond `limitBytes`. */
export function discard(exchange: Exchange, limitBytes: number): Promise<void> {
  return read(exchange, limitBytes, bodyLimit, () => undefined);
}

/** Puts `chunk` behind the first `used` bytes of `body`, in a larger buffer when it does not fit. */
function append(body: Buffer, used: number, chunk: Buffer, declared: number | undefined): Buffer {
  let room = body;
  if (used === body.length || used + chunk.length > body.length) {
    room = Buffer.allocUnsafe(Math.max(declared ?? firstBytes, used * 2, used + chunk.length));
    body.copy(room, 0, 0, used);
  }
  chunk.copy(room, used);
  return room;
}

async function read(
  exchange: Exchange,
  limitBytes: number,
  setting: string,
  take: (chunk: Buffer) => void,
): Promise<void> {
  const { request, response, head } = exchange;
  if ((head.contentLength ?? 0) > limitBytes) throw tooLarge(limitBytes, setting);
  if (head.expectsContinue) response.writeContinue();
  await new Promise<void>((resolve, reject) => {
    let length = 0;
    const stop = (reason: Error): void => {
      request.off('data', onData).off('end', onEnd);
      exchange.onBroken = undefined;
      reject(reason);
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > limitBytes) stop(tooLarge(limitBytes, setting));
      else take(chunk);
    };
    const onEnd = (): void => {
      exchange.onGone = undefined;
      exchange.onBroken = undefined;
      resolve();
    };
    exchange.onGone = () => stop(refusal('client_left'));
    exchange.onBroken = stop;
    request.on('data', onData).on('end', onEnd);
  });
}

function checkMediaType(contentType: string | undefined, contentEncoding: string | undefined): void {
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity')
    throw refusal('unsupported_encoding');
  if (contentType === 'application/json') return;
  if (contentType === undefined || !json.test(contentType)) throw refusal('unsupported_media_type');
  const named = charset.exec(contentType)?.[1];
  if (named !== undefined && named.toLowerCase() !== 'utf-8') throw refusal('unsupported_media_type');
}

function tooLarge(limit: number, setting: string): Error {
  return refusal('body_too_large', { fill: { limit, setting: setting && ` (${setting})` } });
}
