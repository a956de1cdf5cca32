// The headers of a provider's answer that a client gets: the provider's id of the request, for questions to its support, and headers
// that clients of that provider read.
import type { AnswerHead } from '../upstream/answer-head.ts';

/** The name of the header for the client. */
export const upstreamIdHeader = 'x-upstream-request-id';

/** Longest id and longest value of a header that is passed on, in characters. */
const longest = 128;
const longestValue = 1024;
const visible = /^[\x20-\x7e]+$/;

/** The id as it may be passed on; undefined when it is too long, is no visible ASCII, or holds one of the provider's secrets. */
export function passableId(id: string | undefined, secrets: readonly string[]): string | undefined {
  if (id === undefined || id.length === 0 || id.length > longest) return undefined;
  for (let index = 0; index < id.length; index += 1) {
    const code = id.charCodeAt(index);
    if (code < 0x21 || code > 0x7e) return undefined;
  }
  for (const secret of secrets) if (id.includes(secret)) return undefined;
  return id;
}

/** These parts of an answer's head. */
export type ToldHead = Pick<AnswerHead, 'requestId' | 'told'>;

/**
 * The headers by name in lower case, without those that are too long, are no visible ASCII or hold one of the secrets. `isPassed`: the client
 * asks the provider itself, so that it reads the provider's `request-id`; else that is the gateway's.
 */
export function providerHeaders(
  { requestId, told }: ToldHead,
  secrets: readonly string[],
  isPassed = false,
): Record<string, string> {
  const headers: Record<string, string> = {};
  const id = passableId(requestId, secrets);
  if (id !== undefined) headers[upstreamIdHeader] = id;
  if (told === undefined) return headers;
  for (let index = 0; index < told.length; index += 2) {
    const name = String(told[index]).toLowerCase();
    if (name === 'request-id' && !isPassed) continue;
    const value = (told[index + 1] as Buffer).toString('latin1');
    if (value.length > longestValue || !visible.test(value) || secrets.some((secret) => value.includes(secret)))
      continue;
    const before = headers[name];
    headers[name] = before === undefined ? value : `${before}, ${value}`;
  }
  return headers;
}
