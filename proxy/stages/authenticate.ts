// Stage 1: who is calling. Every refusal is the same, so that a caller without a key learns nothing.
import type { Socket } from 'node:net';
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import {
  bearerToken,
  type Caller,
  type Credentials,
  failedLogin,
  identify,
  identifyDigest,
} from '../../domain/keys/credentials.ts';
import type { ModelAccess } from '../../domain/keys/model-access.ts';
import { hasRight } from '../../domain/keys/role.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { dashboardKey } from '../../domain/keys/token-key.ts';
import { foldUserPath } from '../../domain/user-path.ts';
import type { FailedLogins } from '../../plane/access/failed-logins.ts';
import type { TokenKeys } from '../../plane/identities/token-keys.ts';
import type { CertificateKeys } from '../../plane/tls/certificate-keys.ts';
import { rightOf } from '../../schemas/admin-rights.ts';
import { readUserPath } from '../call/user-path.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { Exchange } from '../http/exchange.ts';
import { refusalOfToken } from '../http/refusal-of-token.ts';

/** Who calls. */
export interface Principal {
  readonly kind: Caller['kind'];
  /** The managed key's id; of a token `IDENTITY:SUBJECT`. */
  readonly keyId: string | undefined;
  /** The consumer whose rules apply, normalised and in lower case: what belongs to it is kept under this name. */
  readonly userPath: string;
  /** The user path in the letter case in which it was sent, or given to the key: people see this one. */
  readonly shownPath: string;
  /** The models the caller is restricted to; undefined: any. */
  readonly allowedModels: ModelAccess | undefined;
  /** Of the managed key: the beginning of its digest, which tells keys apart and opens nothing; and its labels. */
  readonly keyHash?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  /** Whether it may read explanations of requests, which show more than the caller itself may see. */
  readonly mayReadExplanations?: boolean;
  /** The key that a token stands for; absent: the caller has another credential. */
  readonly tokenKey?: AuthKey | undefined;
}

const ofExplanations = rightOf('GET', '/admin/explain/:id');

export interface AuthenticateParts {
  readonly failedLogins: Pick<FailedLogins, 'note'>;
  readonly tokenKeys: Pick<TokenKeys, 'known' | 'now' | 'judge'>;
  readonly certificates: Pick<CertificateKeys, 'judge' | 'trouble'>;
  /** The time by which keys end. Unix milliseconds. */
  readonly authorityMs: () => number;
}

/** The last key accepted on a connection, and by which credentials: a client sends the same key again, and comparing costs less than hashing. */
interface Accepted {
  readonly authorization: string | undefined;
  readonly apiKey: string | undefined;
  readonly userPath: string | undefined;
  readonly credentials: Credentials;
  /** When the key stops to count; Infinity: never. */
  readonly expiresAtMs: number;
  readonly principal: Principal;
}

const accepted = new WeakMap<Socket, Accepted>();

/**
 * The caller of a request, by `Authorization: Bearer`, `x-api-key` or `api-key` (spec: Authentication 1 and 3), or by the header of
 * `server.gateway_key_header`: where that is there, it alone counts.
 * Throws 401 `invalid_api_key` for every failure, however many there were (design section 4, Wrong keys: SDKs would wait for the end of
 * a 429, and all clients behind one load balancer share an address), 400 `ambiguous_credentials` when two different keys are sent,
 * 403 `user_path_denied` when the request names a path and its key may not, and 400 `invalid_user_path` when that path counts and is
 * none. While the keys could not be read yet, an unknown one gets 503 `store_unavailable`. A token of an identity is a key, too: 401
 * `invalid_token` says which check failed. Without any key the certificate of the client counts, if it gives rights. Only a token that is not known yet gives a promise: its signature is verified on another thread.
 */
export function authenticate(
  exchange: Exchange,
  credentials: Credentials,
  { failedLogins, authorityMs, tokenKeys, certificates }: AuthenticateParts,
): Principal | Promise<Principal> {
  const { head, request } = exchange;
  const nowMs = authorityMs();
  const { userPath, gatewayKey, ambiguousCredentials } = head;
  // With a key of the gateway in a header of its own, the others hold what the client sends to a provider.
  const authorization = gatewayKey === undefined ? head.authorization : undefined;
  const apiKey = gatewayKey ?? head.apiKey;
  if (ambiguousCredentials || areTwoKeys(authorization, apiKey)) {
    failedLogins.note('ambiguous');
    exchange.caller = { reason: 'ambiguous' };
    throw refusal('ambiguous_credentials');
  }
  // A key that is sent with a request is about this request; the certificate is about all that come over the connection.
  const ofCertificate = (): Principal | undefined => {
    const judged = certificates.judge(request.socket);
    if (judged?.refused !== undefined) throw refusalOfCertificate(judged.refused, exchange, failedLogins);
    return judged && principalOf({ kind: 'certificate', key: judged.key }, exchange);
  };
  const showsNothing = authorization === undefined && apiKey === undefined;
  if (showsNothing) {
    const principal = ofCertificate();
    if (principal !== undefined) return principal;
  }
  // A connection is only compared with what it has sent itself, so the time this takes reveals nothing about other keys.
  const before = accepted.get(request.socket);
  if (
    before?.credentials === credentials &&
    before.authorization === authorization &&
    before.apiKey === apiKey &&
    before.userPath === userPath &&
    nowMs < before.expiresAtMs &&
    isCurrent(before.principal, tokenKeys)
  ) {
    return before.principal;
  }
  const shown = authorization === undefined ? apiKey : bearerToken(authorization);
  const digest = shown === undefined ? undefined : digestOf(shown);
  const caller =
    digest === undefined ? identify(shown, credentials, nowMs) : identifyDigest(digest, credentials, nowMs);
  const letIn = (found: Caller): Principal => {
    const principal = principalOf(found, exchange);
    const expiresAtMs = found.key?.expiresAtMs ?? Number.POSITIVE_INFINITY;
    accepted.set(request.socket, { authorization, apiKey, userPath, credentials, expiresAtMs, principal });
    return principal;
  };
  if (caller !== undefined && caller.kind !== 'anonymous') return letIn(caller);
  // A managed key comes first, whatever its form.
  if (shown !== undefined && digest !== undefined && credentials.keys.get(digest) === undefined) {
    const key = tokenKeys.known(digest);
    if (key !== undefined) return letIn({ kind: 'identity', key });
    const judging = tokenKeys.judge(shown, digest);
    if (judging !== undefined)
      return judging.then((judged) => {
        if (judged.refused !== undefined) throw refusalOfToken(judged.refused, exchange, failedLogins);
        return letIn({ kind: 'identity', key: judged.key });
      });
  }
  if (caller === undefined) {
    const failed = failedLogin(shown, authorization !== undefined, credentials);
    failedLogins.note(failed.reason);
    exchange.caller = failed;
    if (shown === undefined || credentials.isComplete) throw refusal('invalid_api_key');
    throw refusal('store_unavailable', { headers: { 'retry-after': '1' } });
  }
  // A gateway without a master key. What is no key does not free a client of its certificate. It is not remembered, because with another
  // configuration it may be a token.
  return showsNothing ? letIn(caller) : (ofCertificate() ?? principalOf(caller, exchange));
}

/** A token has the rights of the configuration in force. */
function isCurrent({ tokenKey }: Principal, tokenKeys: Pick<TokenKeys, 'now'>): boolean {
  return tokenKey === undefined || tokenKeys.now(tokenKey) === tokenKey;
}

function refusalOfCertificate(reason: string, exchange: Exchange, failedLogins: Pick<FailedLogins, 'note'>): Refusal {
  failedLogins.note('unknown');
  exchange.caller = { reason: 'unknown' };
  return refusal('client_certificate_refused', { fill: { reason } });
}

/** The path a request names for itself. Throws 403 `user_path_denied` when its key may not: unseen, it would evade the caps of that path. */
function namedPath({ kind, key }: Caller, exchange: Exchange): string {
  exchange.caller = { kind, keyId: key?.id, userPath: undefined };
  const path = readUserPath(exchange.head.userPath);
  if (path === '/' || key === undefined || key.anyUserPath) return path;
  exchange.caller = { reason: 'denied', keyId: key.id };
  throw refusal('user_path_denied');
}

/** Whether two different keys are shown. */
function areTwoKeys(authorization: string | undefined, apiKey: string | undefined): boolean {
  if (authorization === undefined || apiKey === undefined) return false;
  const bearer = bearerToken(authorization);
  return bearer !== undefined && bearer !== apiKey;
}

/** Of keys with a user path of their own: their requests all have the same caller, whatever connection they come on. */
const bound = new WeakMap<AuthKey, Principal>();

/** A path bound to the key always wins; the header of the request is then ignored. */
function principalOf(caller: Caller, exchange: Exchange): Principal {
  const { key } = caller;
  if (key?.userPath === undefined) return principalAt(namedPath(caller, exchange), caller);
  const known = bound.get(key);
  if (known !== undefined) return known;
  const principal = principalAt(key.userPath, caller);
  bound.set(key, principal);
  return principal;
}

function principalAt(shownPath: string, { kind, key }: Caller): Principal {
  return {
    kind,
    keyId: key?.id,
    userPath: foldUserPath(shownPath),
    shownPath,
    allowedModels: key?.modelAccess,
    keyHash: key?.digest.slice(0, 16),
    labels: key === undefined || key.labels.length === 0 ? undefined : key.labels,
    mayReadExplanations: hasRight(key && dashboardKey(key), ofExplanations),
    ...(key?.token === undefined ? {} : { tokenKey: key }),
  };
}
