// Headers as an audit entry shows them (spec: data.request_headers): names in lower case, the first value of each, no credentials, bounded.
import { mark, withoutKeysOfQuery } from '../../schemas/formats/key-shapes.ts';

/** Of one message. */
const mostHeaders = 64;
/** Of names and values together. Characters. */
const mostLength = 16 * 1024;

/** Headers that hold a credential (reference SR9), and those that may. */
const credential =
  /^(?:cookie|set-cookie|proxy-.*|x-auth-.*|dpop)$|(?:^|-)(?:key|auth|pwd)$|api-?key|token|secret|passw|credential|signature|authorization|authentication/;
/** These speak of tokens of models, and of keys that open nothing. */
const harmless = /(?:^|-)ratelimit-|^(?:x-)?idempotency-key$|^sec-websocket-key$/;
/** A credential under whatever name. */
const scheme = /^\s*(?:basic|bearer|digest|negotiate)\s+\S/i;
/** A key among the sub-protocols that a browser offers. */
const protocols = 'sec-websocket-protocol';

/** `list`: names and values in turn. What is beyond the bounds is left out, and so are these secrets. */
export function shownHeaders(list: readonly string[], secrets: readonly string[] = []): Record<string, string> {
  const shown = new Map<string, string>();
  let length = 0;
  for (let index = 0; index + 1 < list.length && shown.size < mostHeaders; index += 2) {
    const name = (list[index] as string).toLowerCase();
    if (shown.has(name)) continue;
    const value = shownValue(name, list[index + 1] as string, secrets);
    length += name.length + value.length;
    if (length > mostLength) break;
    shown.set(name, value);
  }
  return Object.fromEntries(shown);
}

/** Does the same for headers as they came over the wire. */
export function shownRawHeaders(raw: readonly Buffer[]): Record<string, string> {
  return shownHeaders(raw.map((bytes) => bytes.toString('latin1')));
}

function shownValue(name: string, value: string, secrets: readonly string[]): string {
  if ((credential.test(name) && !harmless.test(name)) || scheme.test(value)) return mark;
  if (name === protocols) return value.replace(/(api-key\.)[^\s,]+/g, `$1${mark}`);
  return withoutKeysOfQuery(value, secrets);
}
