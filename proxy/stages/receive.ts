// Stage 0: the client's body, in its own bytes, within the limit.
import { refusal } from '../errors.ts';
import type { Exchange } from '../request/exchange.ts';

const json = /^application\/json\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i;

/**
 * Reads the whole body of a JSON request. Throws 415 for other media types or encodings and 413 beyond `limitBytes`
 * (before reading, when the length is declared). Rejects when the client leaves.
 */
export async function receive(exchange: Exchange, limitBytes: number): Promise<Buffer> {
  checkMediaType(exchange.head.contentType, exchange.head.contentEncoding);
  const chunks: Buffer[] = [];
  await read(exchange, limitBytes, (chunk) => chunks.push(chunk));
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

/** Reads a body nobody asked for, so that it is not taken for the next request. Throws 413 beyond `limitBytes`. */
export function discard(exchange: Exchange, limitBytes: number): Promise<void> {
  return read(exchange, limitBytes, () => undefined);
}

function read(exchange: Exchange, limitBytes: number, take: (chunk: Buffer) => void): Promise<void> {
  const { request, response, head } = exchange;
  if ((head.contentLength ?? 0) > limitBytes) throw tooLarge(limitBytes);
  if (head.expectsContinue) response.writeContinue();
  return new Promise((resolve, reject) => {
    let length = 0;
    const stop = (reason: Error): void => {
      request.off('data', onData).off('end', onEnd);
      reject(reason);
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > limitBytes) stop(tooLarge(limitBytes));
      else take(chunk);
    };
    const onEnd = (): void => {
      exchange.onGone = undefined;
      resolve();
    };
    exchange.onGone = () => stop(refusal('malformed_request', { fill: { reason: 'the client left' } }));
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

function tooLarge(limit: number): Error {
  return refusal('body_too_large', { fill: { limit } });
}
