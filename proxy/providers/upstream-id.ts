// The headers of a provider's answer that a client gets: the provider's id of the request, for questions to its support, and headers
// that clients of that provider read.
import { type AnswerHead, accountPrefixes } from '../upstream/answer-head.ts';

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
export type ToldHead = Pick<AnswerHead, 'requestId' | 'told' | 'quota'>;

/** Whose headers they are. */
interface Teller {
  readonly secrets: readonly string[];
  /** `given`: it was asked with the credential of the client; absent: with a key of the gateway. */
  readonly clientAuth?: 'none' | 'needed' | 'given' | undefined;
}

/**
 * The headers by name in lower case, without those that are too long, are no visible ASCII or hold one of the secrets. `isPassed`: the client
 * asks the provider itself, so that it reads the provider's `request-id`; else that is the gateway's. A client that is asked for with its own
 * credential is also told how much of its subscription is used.
 */
export function providerHeaders(
  { requestId, told, quota }: ToldHead,
  { secrets, clientAuth }: Teller,
  isPassed = false,
): Record<string, string> {
  const headers: Record<string, string> = {};
  const id = passableId(requestId, secrets);
  if (id !== undefined) headers[upstreamIdHeader] = id;
  const isForClient = clientAuth === 'given';
  if (told === undefined && !isForClient) return headers;
  const add = (raw: readonly Buffer[], isWanted: (name: string) => boolean): void => {
    for (let index = 0; index < raw.length; index += 2) {
      const name = String(raw[index]).toLowerCase();
      const value = (raw[index + 1] as Buffer).toString('latin1');
      if (!isWanted(name) || value.length > longestValue || !visible.test(value)) continue;
      if (secrets.some((secret) => value.includes(secret))) continue;
      const before = headers[name];
      headers[name] = before === undefined ? value : `${before}, ${value}`;
    }
  };
  if (told !== undefined) add(told, (name) => name !== 'request-id' || isPassed);
  if (isForClient && quota !== undefined)
    add(quota, (name) => accountPrefixes.some((prefix) => name.startsWith(prefix)));
  return headers;
}
