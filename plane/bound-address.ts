// The address a server listens on, as a URL.
import type { AddressInfo } from 'node:net';

/** The address a socket is really bound to, such as `http://0.0.0.0:8080` or `http://[::1]:8080`. */
export function boundAddress(bound: AddressInfo | string | null, scheme: 'http' | 'https' = 'http'): string {
  if (bound === null || typeof bound === 'string') throw new Error('the server does not listen on a TCP port');
  const { address, port } = bound;
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}`;
}
