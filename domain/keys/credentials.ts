// Finds the caller of a token among the keys in force; both planes use it.
import { type AuthKey, isActive } from './auth-key.ts';
import { type EndedSessionsByOwner, noEndedSessions } from './ended-sessions.ts';
import { KeysByDigest } from './keys-by-digest.ts';
import { digestOf, sameDigest } from './secret.ts';

/** The keys in force. Every change of the keys makes a new object, so a cached result is valid for the object that gave it. */
export interface Credentials {
  /** SHA-256 of the master key in hex; undefined when the gateway was started without one: then every request is accepted. */
  readonly masterKeyDigest: string | undefined;
  readonly keys: KeysByDigest;
  /** False until the managed keys were read: until then an unknown token may be a managed key. */
  readonly isComplete: boolean;
  /** Undefined until they were read: until then any session may have been ended. */
  readonly endedSessions: EndedSessionsByOwner | undefined;
}

/** The caller of a token. */
export type Caller =
  | { readonly kind: 'master_key' | 'anonymous'; readonly key?: never }
  /** `identity`: a token of an identity provider, which stands for a key; `certificate`: that of a client, likewise. `person`: who has signed in there (`keyOfPerson`). */
  | { readonly kind: 'managed_key' | 'identity' | 'certificate' | 'person'; readonly key: AuthKey };

const master: Caller = Object.freeze({ kind: 'master_key' });
const anonymous: Caller = Object.freeze({ kind: 'anonymous' });

/** The credentials of the master key (its digest) and the managed keys. `isComplete`: whether these are all managed keys. */
export function credentialsOf(
  masterKeyDigest: string | undefined,
  keys: readonly AuthKey[] | KeysByDigest,
  isComplete: boolean = true,
  endedSessions: EndedSessionsByOwner = noEndedSessions,
): Credentials {
  const known = isComplete ? endedSessions : undefined;
  const byDigest = keys instanceof KeysByDigest ? keys : KeysByDigest.none.changed({ gone: [], come: keys });
  return Object.freeze({ masterKeyDigest, keys: byDigest, isComplete, endedSessions: known });
}

/** The token of an Authorization header: the scheme in any case and one blank or more before it (RFC 9110 11.1, 11.4). Undefined for other schemes. */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  let start = 7;
  while (authorization[start] === ' ') start += 1;
  return authorization.slice(start);
}

/**
 * The caller of a token at this moment (Unix milliseconds). Undefined for a missing, unknown, revoked or expired token; the result does
 * not show which. Without a master key, unknown callers are anonymous, and a managed key still has its own rights.
 */
export function identify(token: string | undefined, credentials: Credentials, nowMs: number): Caller | undefined {
  const stranger = credentials.masterKeyDigest === undefined ? anonymous : undefined;
  return token === undefined ? stranger : identifyDigest(digestOf(token), credentials, nowMs);
}

/** `identify` by the digest of the token (SHA-256 in hex), as a session holds it. */
export function identifyDigest(digest: string, credentials: Credentials, nowMs: number): Caller | undefined {
  const { masterKeyDigest, keys } = credentials;
  const stranger = masterKeyDigest === undefined ? anonymous : undefined;
  if (masterKeyDigest !== undefined && sameDigest(digest, masterKeyDigest)) return master;
  const key = keys.get(digest);
  if (key === undefined || !sameDigest(digest, key.digest)) return stranger;
  return isActive(key, nowMs) ? { kind: 'managed_key', key } : undefined;
}

/**
 * Why a key is refused. `denied`: it is valid, but may not do this: open the admin API, name a user path. `paused`: it was not looked at,
 * because of the failures of its address.
 */
export type LoginFailure =
  | 'missing'
  | 'malformed'
  | 'ambiguous'
  | 'unknown'
  | 'revoked'
  | 'expired'
  | 'unavailable'
  | 'denied'
  | 'paused';

/** A login that failed; of a managed key that is still there, also its id and its user path. */
export interface FailedLogin {
  readonly reason: LoginFailure;
  readonly keyId?: string;
  readonly userPath?: string | undefined;
  /** Of a token: the identity that it says it is of, and the check that failed. */
  readonly token?: { readonly identity: string; readonly check: string };
}

/**
 * The reason why `identify` found no caller, for metrics and logs; never for the caller. `wasSent`: the request had an
 * Authorization header, with a token or not.
 */
export function failedLogin(
  token: string | undefined,
  wasSent: boolean,
  { keys, isComplete }: Credentials,
): FailedLogin {
  if (token === undefined) return { reason: wasSent ? 'malformed' : 'missing' };
  return failedDigest(digestOf(token), { keys, isComplete });
}

/** `failedLogin` by the digest of the token (SHA-256 in hex). */
export function failedDigest(
  digest: string,
  { keys, isComplete }: Pick<Credentials, 'keys' | 'isComplete'>,
): FailedLogin {
  const key = keys.get(digest);
  if (key === undefined) return { reason: isComplete ? 'unknown' : 'unavailable' };
  return { reason: key.enabled ? 'expired' : 'revoked', keyId: key.id, userPath: key.userPath };
}
