// Asks an identity provider: its answer is bounded in time and size, so that one that hangs or sends without end holds up no request. Addresses that its
// documents name are dialled by the same rules as those of the configuration.
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { AddressRefused, allowedLookup, isSafeUrl, refuseHost } from '../../../plane/identities/allowed-address.ts';

/** How long one answer may take with its body. Milliseconds. */
const answerMs = 5_000;
/** Of one answer: discovery documents, keys, tokens and claims are far smaller. Bytes. */
const longestAnswer = 512 * 1024;

/** An answer that is too long. */
export class AnswerTooLong extends Error {
  constructor() {
    super(`its answer is longer than ${longestAnswer / 1024} KiB`);
    this.name = 'AnswerTooLong';
  }
}

/** What `openid-client` sends. */
interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** `fetch` for `openid-client`, which follows no redirect. The whole answer is read here. Rejects with `AddressRefused`, `AnswerTooLong`, and errors of sockets. */
export function boundedFetch(allowPrivate: boolean): (url: string, sent: Sent) => Promise<Response> {
  return async (address, { method, headers: given, body, signal: other }) => {
    const url = new URL(address);
    if (!isSafeUrl(url)) throw new AddressRefused();
    refuseHost(url, allowPrivate);
    const late = AbortSignal.timeout(answerMs);
    const signal = other === undefined ? late : AbortSignal.any([other, late]);
    const text = body instanceof URLSearchParams ? body.toString() : '';
    const headers = { ...given, 'accept-encoding': 'identity' };
    const begin = url.protocol === 'https:' ? secureRequest : plainRequest;
    const lookup = allowedLookup(allowPrivate);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const request = begin(url, { agent: false, method, headers, lookup, signal });
    request.on('response', resolve).on('error', reject).end(text);
    return read(await promise);
  };
}

async function read(answer: IncomingMessage): Promise<Response> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > longestAnswer) throw new AnswerTooLong();
    pieces.push(piece);
  }
  const { statusCode: status = 0 } = answer;
  const hasBody = status !== 204 && status !== 304;
  const headers = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]);
  return new Response(hasBody ? Buffer.concat(pieces) : null, { status, headers });
}
