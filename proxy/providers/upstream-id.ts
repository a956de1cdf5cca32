// The id by which a provider knows a request, for a client that has to ask its support.

/** The name of the header for the client. */
export const upstreamIdHeader = 'x-upstream-request-id';

/** Longest id that is passed on, in characters. */
const longest = 128;

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

/** The header for an answer that is an error; empty without an id. */
export function upstreamIdHeaders(id: string | undefined, secrets: readonly string[]): Record<string, string> {
  const passable = passableId(id, secrets);
  return passable === undefined ? {} : { [upstreamIdHeader]: passable };
}
