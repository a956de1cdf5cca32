// Why an upstream call failed, from the codes of undici, the system and TLS: one table, no chain of conditions.
import type { ErrorCode } from '../errors.ts';

/** A failed upstream call, before it becomes anyone's answer. */
export interface Failure {
  readonly code: ErrorCode;
  /** Words for the error's message; never an address, a header or a body. */
  readonly reason: string;
}

const unreachable = (reason: string): Failure => ({ code: 'upstream_unavailable', reason });
const tls = (reason: string): Failure => ({ code: 'upstream_tls', reason });
const invalid = (reason: string): Failure => ({ code: 'upstream_invalid_response', reason });
const dns: Failure = { code: 'upstream_dns', reason: '' };
const disconnected: Failure = { code: 'upstream_disconnected', reason: '' };

const table: Readonly<Record<string, Failure>> = {
  ENOTFOUND: dns,
  EAI_AGAIN: dns,
  ECONNREFUSED: unreachable('connection refused'),
  EHOSTUNREACH: unreachable('host unreachable'),
  ENETUNREACH: unreachable('network unreachable'),
  EADDRNOTAVAIL: unreachable('no local address left'),
  UND_ERR_CONNECT_TIMEOUT: unreachable('no connection within the connect timeout'),
  ECONNRESET: disconnected,
  EPIPE: disconnected,
  UND_ERR_SOCKET: disconnected,
  UND_ERR_CLOSED: disconnected,
  UND_ERR_DESTROYED: disconnected,
  UND_ERR_HEADERS_OVERFLOW: invalid('its headers are too large'),
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: disconnected,
  UND_ERR_RES_EXCEEDED_MAX_SIZE: invalid('it is too large'),
  ERR_ASSERTION: invalid('its status is not an HTTP status'),
  CERT_HAS_EXPIRED: tls('its certificate has expired'),
  DEPTH_ZERO_SELF_SIGNED_CERT: tls('its certificate is self-signed'),
  SELF_SIGNED_CERT_IN_CHAIN: tls('its certificate chain is self-signed'),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: tls('its certificate cannot be verified'),
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: tls('its certificate cannot be verified'),
  ERR_TLS_CERT_ALTNAME_INVALID: tls('its certificate is for another host'),
};

/** The failure an error stands for. An unknown code means an answer we could not use. */
export function failureOf(error: unknown): Failure {
  const code = codeOf(error);
  const known = table[code];
  if (known) return known;
  if (code.startsWith('HPE_')) return invalid('it is not valid HTTP');
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) return tls('the handshake failed');
  return invalid('it could not be read');
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  // Connecting to several addresses of one host fails with one error for all.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const { code } = first as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
