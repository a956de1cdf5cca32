// Headers that belong to one connection, not to the message (RFC 9110 7.6.1).

const always: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/**
 * Returns a function that tells whether a header belongs to the connection alone (hop-by-hop). `raw`: names and values
 * in turn; the function takes names in lower case.
 */
export function noTransfer(raw: readonly string[]): (name: string) => boolean {
  const named = new Set<string>();
  for (let index = 0; index < raw.length; index += 2) {
    if (raw[index]?.toLowerCase() !== 'connection') continue;
    for (const name of (raw[index + 1] ?? '').split(',')) named.add(name.trim().toLowerCase());
  }
  return (name) => always.has(name) || named.has(name);
}
