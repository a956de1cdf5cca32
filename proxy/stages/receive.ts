// Stage 0: the body of a model call. What its head says is checked before a byte is read.

import { refusal } from '../errors.ts';
import type { HeldBody } from '../http/body-budget.ts';
import type { Exchange } from '../http/exchange.ts';
import { expectLength, readBody } from '../http/read-body.ts';

const json = /^application\/json\s*(?:;|$)/i;
const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i;

/** The setting that limits bodies of model endpoints. */
const setting = 'server.body_limit';

/** Checks what the head says of a JSON body. Throws 415 for other media types and for encodings, and 413 beyond the limit. */
export function expectJson({ head }: Exchange, limitBytes: number): void {
  checkMediaType(head.contentType, head.contentEncoding);
  expectLength(head, { bytes: limitBytes, setting });
}

/** Reads the body. Rejects with what `readBody` does. */
export function received(exchange: Exchange, limitBytes: number, held: HeldBody): Promise<Buffer> {
  return readBody(exchange, { bytes: limitBytes, setting }, held);
}

function checkMediaType(contentType: string | undefined, contentEncoding: string | undefined): void {
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity')
    throw refusal('unsupported_encoding');
  if (contentType === 'application/json') return;
  if (contentType === undefined || !json.test(contentType)) throw refusal('unsupported_media_type');
  const named = charset.exec(contentType)?.[1];
  if (named !== undefined && named.toLowerCase() !== 'utf-8') throw refusal('unsupported_media_type');
}
