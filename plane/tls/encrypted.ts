// Whether a connection speaks TLS.
import type { Socket } from 'node:net';

/** True for a connection behind its TLS handshake. */
export function isEncrypted(socket: Socket): boolean {
  return 'encrypted' in socket && socket.encrypted === true;
}
