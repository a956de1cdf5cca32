// Whose certificates are trusted: those of the system, and the authorities of a provider's own (`ca_file`).
import { hash } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

/** Certificates of authorities, trusted besides those of the system. */
export interface Authorities {
  /** PEM. */
  readonly pem: string;
  /** The same for the same text. */
  readonly id: string;
}

export function authoritiesOf(pem: string): Authorities {
  return Object.freeze({ pem, id: hash('sha256', pem) });
}

/** Made once for all connections that trust the same: reading the system's certificates takes some 30 ms. */
const contexts = new WeakMap<Authorities, SecureContext>();

export function contextOf(authorities: Authorities): SecureContext {
  let context = contexts.get(authorities);
  context ??= createSecureContext({ ca: [...getCACertificates('default'), authorities.pem] });
  contexts.set(authorities, context);
  return context;
}
