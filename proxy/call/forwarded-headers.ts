// The headers of a client that a provider is to see (`forward_headers`).
import { isNamed } from './head.ts';

/**
 * Adds to `headers` every line of the client's raw header list with one of these names, which are in lower case. A header that stands
 * there twice is sent twice.
 */
export function addForwarded(headers: string[], raw: readonly string[], names: readonly string[]): void {
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    for (const wanted of names) if (isNamed(name, wanted)) headers.push(wanted, raw[index + 1] as string);
  }
}
