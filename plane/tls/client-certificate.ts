// The certificates that clients have shown.
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { isEncrypted } from './encrypted.ts';

/** Of connections whose client has shown a certificate that cannot be verified: why. */
const troubles = new WeakMap<Socket, string>();

/** To be called once a handshake with a request for a certificate is over. */
export function noteClientCertificate(socket: TLSSocket): void {
  if (socket.authorized || socket.getPeerX509Certificate() === undefined) return;
  // Typed as an error, it is a code, such as CERT_HAS_EXPIRED.
  const code = String(socket.authorizationError);
  troubles.set(socket, reasons[code] ?? code.replaceAll('_', ' ').toLowerCase());
}

/** Why the certificate that the client of a connection has shown cannot be verified; undefined: it has shown none, or a good one. */
export function troubleOfCertificate(socket: Socket): string | undefined {
  return isEncrypted(socket) ? troubles.get(socket) : undefined;
}

const unknownIssuer = 'its issuer is not among the authorities of this gateway';
const reasons: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  CERT_REVOKED: 'it was revoked',
  CRL_HAS_EXPIRED: 'the revocation list of its issuer has expired',
  UNABLE_TO_GET_CRL: 'there is no revocation list of its issuer',
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownIssuer,
  SELF_SIGNED_CERT_IN_CHAIN: unknownIssuer,
  UNABLE_TO_GET_ISSUER_CERT: unknownIssuer,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownIssuer,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownIssuer,
  INVALID_PURPOSE: 'it is not meant for clients',
};
