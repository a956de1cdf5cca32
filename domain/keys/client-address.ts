// The client's address: its plain form, and the header with it from a proxy to the control plane, signed so that it cannot be forged.
import { sameDigest, signatureOf } from './secret.ts';

/** The name of the header. The proxy replaces a header of this name that a client sends. */
export const clientAddressHeader = 'x-gateway-client-address';

/** The header's value: the address, a blank, and the HMAC-SHA-256 of the address under the master key, in hex. */
export function signClientAddress(address: string, masterKey: string): string {
  return `${address} ${signatureOf(address, masterKey)}`;
}

/** The address of a header value; undefined when the value is missing or not signed with this key, and always without a key. */
export function readClientAddress(value: string | undefined, masterKey: string | undefined): string | undefined {
  if (value === undefined || masterKey === undefined) return undefined;
  const blank = value.indexOf(' ');
  if (blank <= 0) return undefined;
  const address = value.slice(0, blank);
  return sameDigest(value.slice(blank + 1), signatureOf(address, masterKey)) ? address : undefined;
}

/** A socket for IPv4 and IPv6 reports an IPv4 address as ::ffff:127.0.0.1. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address;
}
