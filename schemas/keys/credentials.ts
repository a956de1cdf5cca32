// What keys are checked against, and whose key a token is: one verdict for both planes.
import { type AuthKey, isActive, keysByDigest } from './auth-key.ts';
import { digestOf, sameDigest } from './secret.ts';

/** The keys in force. One object for each state of them: whoever remembers a verdict remembers which object gave it. */
export interface Credentials {
  /** SHA-256 of the master key in hex; undefined when the gateway was started without one on purpose: then everyone is let in. */
  readonly masterKeyDigest: string | undefined;
  /** Managed keys by the digest of their secret. */
  readonly keys: ReadonlyMap<string, AuthKey>;
  /** False while the managed keys could not be read: a token that nobody knows may be one of them. */
  readonly isComplete: boolean;
}

/** Whose key a token is. */
export type Caller =
  | { readonly kind: 'master_key' | 'anonymous'; readonly key?: never }
  | { readonly kind: 'managed_key'; readonly key: AuthKey };

const master: Caller = Object.freeze({ kind: 'master_key' });
const anonymous: Caller = Object.freeze({ kind: 'anonymous' });

/** The credentials of a master key (its digest) and the managed keys, all of them unless said otherwise. */
export function credentialsOf(
  masterKeyDigest: string | undefined,
  keys: Iterable<AuthKey>,
  isComplete: boolean = true,
): Credentials {
  return Object.freeze({ masterKeyDigest, keys: keysByDigest(keys), isComplete });
}

/** The token of an Authorization header: the scheme in any case and one blank or more before it (RFC 9110 11.1, 11.4). Undefined for other schemes. */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  let start = 7;
  while (authorization[start] === ' ') start += 1;
  return authorization.slice(start);
}

/**
 * Who shows this token at this moment (Unix milliseconds). Undefined when nobody may: no token, an unknown one, a revoked or an expired
 * one, and nothing tells them apart. Without a master key whoever is unknown is let in, but a managed key still means what it says.
 */
export function identify(token: string | undefined, credentials: Credentials, nowMs: number): Caller | undefined {
  const { masterKeyDigest, keys } = credentials;
  const stranger = masterKeyDigest === undefined ? anonymous : undefined;
  if (token === undefined) return stranger;
  const digest = digestOf(token);
  if (masterKeyDigest !== undefined && sameDigest(digest, masterKeyDigest)) return master;
  const key = keys.get(digest);
  if (key === undefined || !sameDigest(digest, key.digest)) return stranger;
  return isActive(key, nowMs) ? { kind: 'managed_key', key } : undefined;
}
