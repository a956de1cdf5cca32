// Stage 0: the client's body, in its own bytes, within the limit.
import { refusal } from '../errors.ts';
import type { Exchange } from '../request/exchange.ts';

const json = /^application\/json\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i;

/**
 * Reads the whole body of a JSON request. Throws 415 for other media types or encodings and 413 beyond `limitBytes`
 * (before reading, when the length is declared). Rejects when the client leaves.
 */
export function receive(exchange: Exchange, limitBytes: number): Promise<Buffer> {
  const { request, response, head } = exchange;
  checkMediaType(head.contentType, head.contentEncoding);
  if ((head.contentLength ?? 0) > limitBytes) throw tooLarge(limitBytes);
  if (head.expectsContinue) response.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const stop = (reason: Error): void => {
      request.off('data', take).off('end', finish);
      reject(reason);
    };
    const take = (chunk: Buffer): void => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > limitBytes) stop(tooLarge(limitBytes));
    };
    const finish = (): void => {
      exchange.onGone = undefined;
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
    };
    exchange.onGone = () => stop(refusal('malformed_request', { fill: { reason: 'the client left' } }));
    request.on('data', take).on('end', finish);
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
