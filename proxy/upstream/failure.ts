// Maps the error codes of undici, the system and TLS to the failure of an upstream call: one table.
import type { Failure } from '../answer.ts';

/** A call that failed before its answer could be handed over. */
export interface UpstreamFailure {
  readonly failure: Failure;
  /** The provider may have seen the request: sending it again could do its work twice. */
  readonly sent: boolean;
  /** The provider had closed the connection when the request was sent: one kept from a call before, or made in place of such a one. */
  readonly isStale: boolean;
}

/**
 * In milliseconds. A kept connection that breaks so soon after the request, without a byte of an answer, had most
 * likely been closed before: that news takes one round trip to the provider. A new connection that replaced it breaks
 * so soon only where the provider is shutting down.
 */
const staleMs = 200;

/**
 * The failure of a call. `sinceSentMs`: how long ago the request was sent on a connection that gave nothing and may have been closed before;
 * else undefined.
 */
export function sendFailure(failure: Failure, sent: boolean, sinceSentMs: number | undefined): UpstreamFailure {
  const isStale = failure.code === 'upstream_disconnected' && sinceSentMs !== undefined && sinceSentMs <= staleMs;
  return { failure, sent: sent && !isStale, isStale };
}

export const clientLeft: Failure = { code: 'upstream_disconnected', reason: 'the client left' };
/** Another target, asked beside this one, was faster. */
export const outrun: Failure = { code: 'hedge_lost', reason: '' };
/** A failure by a timeout; `reason` names the timeout that ended. */
export const timedOut = (reason: string): Failure => ({ code: 'upstream_timeout', reason });

const unreachable = (reason: string): Failure => ({ code: 'upstream_unavailable', reason });
const tls = (reason: string): Failure => ({ code: 'upstream_tls', reason });
const invalid = (reason: string): Failure => ({ code: 'upstream_invalid_response', reason });
const dns: Failure = { code: 'upstream_dns', reason: '' };
const disconnected: Failure = { code: 'upstream_disconnected', reason: '' };

const table: Readonly<Record<string, Failure>> = {
  ENOTFOUND: dns,
  EAI_AGAIN: dns,
  ETIMEDOUT: unreachable('the connection timed out'),
  ECONNREFUSED: unreachable('connection refused'),
  EHOSTUNREACH: unreachable('host unreachable'),
  ENETUNREACH: unreachable('network unreachable'),
  EADDRNOTAVAIL: unreachable('no local address left'),
  ERR_IP_BLOCKED: unreachable('its address is not one that the gateway may connect to'),
  PROXY_UNREACHABLE: unreachable('its HTTP proxy could not be reached'),
  PROXY_REFUSED: unreachable('its HTTP proxy refused to connect to it'),
  PROXY_UNAUTHORIZED: unreachable('its HTTP proxy does not accept the credentials of the gateway'),
  EMFILE: unreachable('the gateway has no more open files to spare'),
  ENFILE: unreachable('the machine has no more open files to spare'),
  UND_ERR_CONNECT_TIMEOUT: unreachable('no connection within the connect timeout'),
  ECONNRESET: disconnected,
  EPIPE: disconnected,
  UND_ERR_SOCKET: disconnected,
  UND_ERR_CLOSED: disconnected,
  UND_ERR_DESTROYED: disconnected,
  UND_ERR_HEADERS_OVERFLOW: invalid('its headers are too large'),
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: invalid('its length is not what it announced'),
  UND_ERR_RES_EXCEEDED_MAX_SIZE: invalid('it is too large'),
  ERR_ASSERTION: invalid('its status is not an HTTP status'),
  CERT_HAS_EXPIRED: tls('its certificate has expired'),
  DEPTH_ZERO_SELF_SIGNED_CERT: tls('its certificate is self-signed'),
  SELF_SIGNED_CERT_IN_CHAIN: tls('its certificate chain is self-signed'),
  INVALID_CA: tls('its certificate cannot be verified'),
  HOSTNAME_MISMATCH: tls('its certificate is for another host'),
  EPROTO: tls('the handshake failed'),
  ERR_TLS_CERT_ALTNAME_INVALID: tls('its certificate is for another host'),
};

/** The failure an error stands for. An unknown code means an answer we could not use. */
export function failureOf(error: unknown): Failure {
  const { code, message } = causeOf(error);
  // Two failures that share their code with a lost connection.
  if (message === 'bad upgrade') return invalid('it switches protocols');
  if (message.includes('before secure TLS connection was established')) return tls('the handshake was broken off');
  const known = table[code];
  if (known) return known;
  const family = families.find(([prefix]) => code.startsWith(prefix));
  return family?.[1] ?? invalid('it could not be read');
}

/** Codes that come in families. */
const families: readonly (readonly [prefix: string, Failure])[] = [
  ['HPE_', invalid('it is not valid HTTP')],
  ['CERT_', tls('its certificate cannot be verified')],
  ['UNABLE_TO_', tls('its certificate cannot be verified')],
  ['ERR_SSL_', tls('the handshake failed')],
  ['ERR_TLS_', tls('the handshake failed')],
];

function causeOf(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: '', message: '' };
  // Connecting to several addresses of one host fails with one error for all.
  const first: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const { code, message } = first as { code?: unknown; message?: unknown };
  return { code: typeof code === 'string' ? code : '', message: typeof message === 'string' ? message : '' };
}
