// The headers of a provider's answer that a client may see where the answer is relayed as it is.
import { noTransfer } from '../upstream/hop-by-hop.ts';

/** Headers that every answer writes anew or that `providerHeaders` tells, those of the provider's limits, and those that would make a browser act. */
const dropped: ReadonlySet<string> = new Set([
  'content-type',
  'content-encoding',
  'content-length',
  'date',
  'server',
  'via',
  'set-cookie',
  'www-authenticate',
  'x-request-id',
  'request-id',
  'apim-request-id',
  'x-upstream-request-id',
  'x-content-type-options',
  'strict-transport-security',
  'alt-svc',
  'vary',
  'x-should-retry',
  'openai-organization',
  'openai-processing-ms',
  'openai-project',
  'openai-version',
  'anthropic-organization-id',
  'server-timing',
  'ratelimit',
  'ratelimit-policy',
  'expect-ct',
  'nel',
  'report-to',
  'reporting-endpoints',
  'clear-site-data',
  'content-security-policy',
  'refresh',
]);
const droppedPrefixes = [
  'x-ratelimit-',
  'ratelimit-',
  'anthropic-ratelimit-',
  'access-control-',
  'x-gateway-',
  'proxy-',
];
/** The bytes that node takes as the value of a header. */
const sendable = /^[\t\x20-\x7e\x80-\xff]*$/;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Names and values in turn. A header that holds one of the secrets is left out; of a stream, also what is said of caching. */
export function passableHeaders(raw: readonly Buffer[], secrets: readonly string[], isStream: boolean): string[] {
  const all = raw.map((bytes) => bytes.toString('latin1'));
  const isHop = noTransfer(all);
  const passed: string[] = [];
  for (let index = 0; index < all.length; index += 2) {
    const [name = '', value = ''] = all.slice(index, index + 2);
    const folded = name.toLowerCase();
    if (dropped.has(folded) || isHop(folded) || droppedPrefixes.some((prefix) => folded.startsWith(prefix))) continue;
    if (isStream && (folded === 'cache-control' || folded === 'x-accel-buffering')) continue;
    if (!token.test(name) || !sendable.test(value) || secrets.some((secret) => value.includes(secret))) continue;
    passed.push(name, value);
  }
  return passed;
}
