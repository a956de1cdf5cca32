// Stage 1: who is calling. Every refusal looks the same, so a caller without a key learns nothing.
import { hash, timingSafeEqual } from 'node:crypto';
import { refusal } from '../errors.ts';
import type { Head } from '../request/head.ts';

/** Who calls. */
export interface Principal {
  readonly kind: 'master_key' | 'anonymous';
}

/** What keys are checked against. */
export interface Credentials {
  /** SHA-256 of the master key; undefined when the gateway was started without one on purpose. */
  readonly masterKeyDigest: Buffer | undefined;
}

const anonymous: Principal = { kind: 'anonymous' };
const master: Principal = { kind: 'master_key' };

/** The digest keys are compared by. */
export function digestOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/**
 * The caller of a request, by `Authorization: Bearer` or `x-api-key` (spec: Authentication 1).
 * Throws 401 `invalid_api_key` for every failure, 400 `ambiguous_credentials` when two different keys are sent.
 */
export function authenticate(head: Head, { masterKeyDigest }: Credentials): Principal {
  if (head.ambiguousCredentials) throw refusal('ambiguous_credentials');
  const bearer = bearerToken(head.authorization);
  if (bearer !== undefined && head.apiKey !== undefined && bearer !== head.apiKey)
    throw refusal('ambiguous_credentials');
  if (masterKeyDigest === undefined) return anonymous;
  const key = head.authorization === undefined ? head.apiKey : bearer;
  if (key === undefined || !timingSafeEqual(digestOf(key), masterKeyDigest)) throw refusal('invalid_api_key');
  return master;
}

/** The token of a bearer header; the scheme's case does not matter (RFC 9110 11.1). */
function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  return authorization.slice(7);
}
