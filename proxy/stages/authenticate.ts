// Stage 1: who is calling. Every refusal looks the same, so a caller without a key learns nothing.
import { hash, timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import { refusal } from '../errors.ts';
import type { Head } from '../request/head.ts';
import { readUserPath } from '../request/user-path.ts';

/** Who calls. */
export interface Principal {
  readonly kind: 'master_key' | 'anonymous';
  /** The consumer whose rules apply, normalised. */
  readonly userPath: string;
}

/** What keys are checked against. */
export interface Credentials {
  /** SHA-256 of the master key; undefined when the gateway was started without one on purpose. */
  readonly masterKeyDigest: Buffer | undefined;
}

/** The digest keys are compared by. */
export function digestOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** The last key accepted on a connection, and by which credentials: a client repeats itself, and hashing costs more than looking. */
interface Accepted {
  readonly authorization: string | undefined;
  readonly apiKey: string | undefined;
  readonly userPath: string | undefined;
  readonly credentials: Credentials;
  readonly principal: Principal;
}

const accepted = new WeakMap<Socket, Accepted>();

/**
 * The caller of a request, by `Authorization: Bearer` or `x-api-key` (spec: Authentication 1).
 * Throws 401 `invalid_api_key` for every failure, 400 `ambiguous_credentials` when two different keys are sent, and then
 * 400 `invalid_user_path`.
 */
export function authenticate(head: Head, credentials: Credentials, socket: Socket): Principal {
  const { authorization, apiKey, userPath, ambiguousCredentials } = head;
  if (ambiguousCredentials) throw refusal('ambiguous_credentials');
  // A connection can only compare with what it has sent itself, so this tells nobody anything about a key.
  const before = accepted.get(socket);
  if (
    before?.credentials === credentials &&
    before.authorization === authorization &&
    before.apiKey === apiKey &&
    before.userPath === userPath
  ) {
    return before.principal;
  }
  const kind = identify(authorization, apiKey, credentials);
  const principal = { kind, userPath: readUserPath(userPath) };
  accepted.set(socket, { authorization, apiKey, userPath, credentials, principal });
  return principal;
}

function identify(
  authorization: string | undefined,
  apiKey: string | undefined,
  { masterKeyDigest }: Credentials,
): Principal['kind'] {
  const bearer = bearerToken(authorization);
  if (bearer !== undefined && apiKey !== undefined && bearer !== apiKey) throw refusal('ambiguous_credentials');
  if (masterKeyDigest === undefined) return 'anonymous';
  const key = authorization === undefined ? apiKey : bearer;
  if (key === undefined || !timingSafeEqual(digestOf(key), masterKeyDigest)) throw refusal('invalid_api_key');
  return 'master_key';
}

/** The token of a bearer header; the scheme's case does not matter (RFC 9110 11.1). */
function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined || authorization.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  return authorization.slice(7);
}
