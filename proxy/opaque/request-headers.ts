// The headers of a client that a provider may see where the request is passed on as it is.
import { noTransfer } from '../upstream/hop-by-hop.ts';

/** The client's credentials, what is written anew for the provider, and what says where the client is. */
const dropped: ReadonlySet<string> = new Set([
  'authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-auth-token',
  'x-access-token',
  'x-amz-security-token',
  'x-amz-date',
  'x-amz-content-sha256',
  'cookie',
  'set-cookie',
  'host',
  'content-length',
  'accept-encoding',
  'expect',
  'forwarded',
  'via',
  'x-real-ip',
  'true-client-ip',
  'cf-connecting-ip',
  'x-client-ip',
  'x-original-url',
  'x-rewrite-url',
  'x-http-method-override',
  'x-method-override',
  'x-http-method',
  'x-request-id',
]);
const droppedPrefixes = ['x-forwarded-', 'x-gateway-', 'proxy-', 'sec-websocket-'];

/** Headers that a provider gets whatever the client sends. */
export interface OwnHeaders {
  /** Names and values in turn: a client's header of the same name is left out. */
  readonly configured: readonly string[];
  /** Names and values in turn: a client's header of that name goes before these. */
  readonly usual: readonly string[];
  /** The names of the gateway's own headers, in lower case: a client's are for the gateway. */
  readonly kept: readonly string[];
}

/** Those of `raw` (names and values in turn) that are passed on, and the usual ones that the client has not sent. */
export function forwardedHeaders(raw: readonly string[], { configured, usual, kept }: OwnHeaders): string[] {
  const isHop = noTransfer(raw);
  const taken = new Set([...kept, ...namesOf(configured)]);
  const passed: string[] = [];
  for (let index = 0; index < raw.length; index += 2) {
    const [name = '', value = ''] = raw.slice(index, index + 2);
    const folded = name.toLowerCase();
    if (dropped.has(folded) || taken.has(folded) || isHop(folded)) continue;
    if (droppedPrefixes.some((prefix) => folded.startsWith(prefix))) continue;
    passed.push(folded, value);
  }
  const sent = new Set([...namesOf(passed), ...taken]);
  for (let index = 0; index < usual.length; index += 2) {
    const [name = '', value = ''] = usual.slice(index, index + 2);
    if (!sent.has(name.toLowerCase())) passed.push(name, value);
  }
  return passed;
}

function namesOf(headers: readonly string[]): string[] {
  return headers.flatMap((name, index) => (index % 2 === 0 ? [name.toLowerCase()] : []));
}
