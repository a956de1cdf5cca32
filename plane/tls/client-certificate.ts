// The certificates that clients have shown: whether they are verified, and what they say, as claims.
import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Claims } from '../../domain/conditions/claim-path.ts';
import { isEncrypted } from './encrypted.ts';

export interface ClientCertificate {
  /** Why it cannot be verified; undefined: it is verified. */
  readonly trouble: string | undefined;
  readonly claims: Claims;
  /** SHA-256, in hex. */
  readonly fingerprint: string;
  /** In hex. */
  readonly serial: string;
  /** Unix milliseconds. */
  readonly notAfterMs: number;
}

const shown = new WeakMap<Socket, ClientCertificate>();

/** To be called once a handshake with a request for a certificate is over. */
export function noteClientCertificate(socket: TLSSocket): void {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return;
  // Typed as an error, it is a code, such as CERT_HAS_EXPIRED.
  const code = String(socket.authorizationError);
  const trouble = socket.authorized ? undefined : (reasons[code] ?? code.replaceAll('_', ' ').toLowerCase());
  const fingerprint = plainHex(certificate.fingerprint256);
  const serial = plainHex(certificate.serialNumber);
  shown.set(socket, {
    trouble,
    claims: Object.freeze(claimsOf(certificate, { fingerprint, serial })),
    fingerprint,
    serial,
    notAfterMs: certificate.validToDate.getTime(),
  });
}

/** That of the client of a connection; undefined: it has shown none, or was not asked. */
export function certificateOf(socket: Socket): ClientCertificate | undefined {
  return isEncrypted(socket) ? shown.get(socket) : undefined;
}

/** Hex in lower case, without colons and leading zeros, so that two ways to write it are equal. */
export function plainHex(text: string): string {
  return text
    .replaceAll(':', '')
    .toLowerCase()
    .replace(/^0+(?=.)/, '');
}

function claimsOf(
  certificate: X509Certificate,
  ids: { readonly fingerprint: string; readonly serial: string },
): Claims {
  const { subject, issuer } = certificate.toLegacyObject();
  const of = (kind: string): string[] =>
    alternativesOf(certificate.subjectAltName).flatMap(([name, value]) => (name === kind ? [value] : []));
  const [uri, email] = [of('URI'), of('email')];
  const sub = uri.find((each) => each.startsWith('spiffe://')) ?? firstOf(subject.CN) ?? email[0] ?? ids.fingerprint;
  return {
    sub,
    ...named('cn', firstOf(subject.CN)),
    ...named('o', firstOf(subject.O)),
    ...named('ou', firstOf(subject.OU)),
    issuer: firstOf(issuer.CN) ?? Object.entries(issuer).flat().join(' '),
    dns: of('DNS'),
    uri,
    email,
    ...ids,
  };
}

function named(name: string, value: string | undefined): Claims {
  return value === undefined ? {} : { [name]: value };
}

/** Of several parts of one kind, node gives a list. */
function firstOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value[0] : value;
}

/** `DNS:a.example, URI:"spiffe://a, b"`: a value with a comma or a quote is in quotes, as in JSON. */
function alternativesOf(text: string | undefined): readonly (readonly [kind: string, value: string])[] {
  return [...(text ?? '').matchAll(/([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/g)].map(
    ([, kind = '', value = '']) => [kind, value.startsWith('"') ? unquoted(value) : value],
  );
}

function unquoted(value: string): string {
  try {
    return String(JSON.parse(value));
  } catch {
    return value;
  }
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
