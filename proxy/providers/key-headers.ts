// How a key is written into headers. Pure.
import type { KeyStyle } from './row.ts';

/** Headers of every request: the gateway reads answers, so it asks for them uncompressed. */
const framing: readonly string[] = ['content-type', 'application/json', 'accept-encoding', 'identity'];

/** The headers of every request with a key, names and values in turn. `further`: those of the configuration. */
export function requestHeaders(style: KeyStyle, key: string | undefined, further: readonly string[]): string[] {
  return [...keyHeaders(style, key), ...framing, ...further];
}

/** Headers that say who asks, names and values in turn. Empty without a key, and where the request is signed instead. */
export function keyHeaders(style: KeyStyle, key: string | undefined): string[] {
  if (key === undefined || style === 'none') return [];
  if (style === 'aws') return isAccessKey(key) ? [] : bearer(key);
  return style === 'bearer' ? bearer(key) : [style, key];
}

/**
 * Whether a key of AWS is one to sign with, `<access key id>:<secret access key>` and maybe `:<session token>`. An API key of Bedrock has
 * no colon and is sent as it is (docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html).
 */
function isAccessKey(key: string): boolean {
  return key.includes(':');
}

function bearer(key: string): string[] {
  return ['authorization', `Bearer ${key}`];
}
