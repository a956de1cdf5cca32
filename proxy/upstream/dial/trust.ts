// The trusted certificate authorities: those of the system, and those of a provider (`ca_file`).
import { hash } from 'node:crypto';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';

/** Certificates of authorities, trusted besides those of the system. */
export interface Authorities {
  /** PEM. */
  readonly pem: string;
  /** Equal for equal `pem`. */
  readonly id: string;
}

/** Names the authorities by the SHA-256 of their PEM text. Does not check the text. */
export function authoritiesOf(pem: string): Authorities {
  return Object.freeze({ pem, id: hash('sha256', pem) });
}

/** Made once for all connections that trust the same: reading the system's certificates takes some 30 ms. */
const contexts = new WeakMap<Authorities, SecureContext>();

/** The TLS context that trusts the system's authorities and these. */
export function contextOf(authorities: Authorities): SecureContext {
  let context = contexts.get(authorities);
  context ??= createSecureContext({ ca: [...getCACertificates('default'), authorities.pem] });
  contexts.set(authorities, context);
  return context;
}
