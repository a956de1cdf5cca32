// A header of a request, from its raw list.
import { isNamed } from '../call/head.ts';

/** The first value under this name, in lower case; undefined: there is none, or it is empty. */
export function headerOf(rawHeaders: readonly string[], name: string): string | undefined {
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (isNamed(rawHeaders[index] as string, name)) return rawHeaders[index + 1] || undefined;
  }
  return undefined;
}

/** All values under this name, in lower case, as one list (RFC 9110, 5.3); undefined: there is none. */
export function wholeHeaderOf(rawHeaders: readonly string[], name: string): string | undefined {
  let whole: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (!isNamed(rawHeaders[index] as string, name)) continue;
    const value = rawHeaders[index + 1] as string;
    whole = whole === undefined ? value : `${whole}, ${value}`;
  }
  return whole;
}
