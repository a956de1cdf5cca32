// Who asks under /admin: known before a byte of the body is read. What the caller may do there, the control plane decides.

import type { AuthKey } from '../../domain/keys/auth-key.ts';
import {
  bearerToken,
  type Caller,
  type Credentials,
  failedDigest,
  failedLogin,
  identify,
} from '../../domain/keys/credentials.ts';
import { identifySession, type PeopleInForce } from '../../domain/keys/identify-session.ts';
import { personId } from '../../domain/keys/person.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { dashboardKey } from '../../domain/keys/token-key.ts';
import { type BrowserSession, browserSession } from '../../plane/access/browser-session.ts';
import type { FailedLogins } from '../../plane/access/failed-logins.ts';
import { isUndecided } from '../../plane/access/refused-token.ts';
import type { TokenKeys } from '../../plane/identities/token-keys.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { Exchange } from '../http/exchange.ts';
import { refusalOfToken } from '../http/refusal-of-token.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { ControlPlaneLink } from './control-plane-link.ts';

/** The sources that identify a caller. */
export interface AdminAccess {
  readonly credentials: Credentials;
  /** The people who may be signed in; absent: nobody. */
  readonly people?: PeopleInForce;
  readonly failedLogins: FailedLogins;
  /** Undefined: there are no sessions. */
  readonly masterKey: string | undefined;
  readonly tokenKeys: Pick<TokenKeys, 'known' | 'judge'>;
  /** The time by which keys and sessions end. Unix milliseconds. */
  readonly nowMs: number;
}

/** That of a gateway, at this moment. */
export function adminAccess({
  current,
  failedLogins,
  controlPlane,
  authorityMs,
  tokenKeys,
}: {
  readonly authorityMs: () => number;
  readonly controlPlane: ControlPlaneLink;
  readonly current: () => Snapshot;
  readonly failedLogins: FailedLogins;
  readonly tokenKeys: TokenKeys;
}): AdminAccess {
  return {
    credentials: current().credentials,
    people: current().people,
    failedLogins,
    tokenKeys,
    masterKey: controlPlane.masterKey(),
    nowMs: authorityMs(),
  };
}

/**
 * The caller of a request under `/admin`, by `Authorization: Bearer` (spec: Authentication 2) or by the session of a browser. Throws 401
 * `invalid_api_key` for every failure, 429 `too_many_failed_logins` for every key in the pause of a client address with too many of them
 * (design section 4, Wrong keys), and 400 `ambiguous_credentials`; of a session 401 `session_ended` and 403 `csrf_refused`. While the keys could not be read yet, an unknown
 * one gets 503 `store_unavailable`. Of a token: 401 `invalid_token`, 503 `identity_unavailable`; one that is not known yet gives a promise.
 */
export function authenticateAdmin(exchange: Exchange, access: AdminAccess): Caller | Promise<Caller> {
  const { head, request, startedAtMs } = exchange;
  const { credentials, failedLogins, masterKey, nowMs } = access;
  // The control plane sees joined headers only, so what is ambiguous must end here.
  if (head.ambiguousCredentials) {
    failedLogins.note('ambiguous');
    exchange.caller = { reason: 'ambiguous' };
    throw refusal('ambiguous_credentials');
  }
  const session = browserSession(request, { ...credentials, masterKey }, nowMs);
  if (session !== undefined) return callerOfSession(session, exchange, access);
  const shown = bearerToken(head.authorization);
  if (shown !== undefined) refusePaused(exchange, failedLogins);
  const caller = identify(shown, credentials, nowMs);
  const ofToken =
    caller === undefined || caller.kind === 'anonymous' ? callerOfToken(shown, exchange, access) : undefined;
  if (ofToken !== undefined) return ofToken;
  if (caller !== undefined) return letIn(caller, exchange);
  const failed = failedLogin(shown, head.authorization !== undefined, credentials);
  failedLogins.note(failed.reason);
  exchange.caller = failed;
  // A request without a key tries none, so it is not counted as a failure.
  if (shown === undefined) throw refusal('invalid_api_key');
  if (!credentials.isComplete) throw keysUnknown();
  failedLogins.fail(exchange.clientAddress, startedAtMs);
  throw refusal('invalid_api_key');
}

/** The caller of a token of an identity. Undefined: it is none; a managed key comes first, whatever its form. */
function callerOfToken(
  shown: string | undefined,
  exchange: Exchange,
  { credentials, failedLogins, tokenKeys }: AdminAccess,
): Caller | Promise<Caller> | undefined {
  if (shown === undefined) return undefined;
  const digest = digestOf(shown);
  if (credentials.keys.get(digest) !== undefined) return undefined;
  const admit = (key: AuthKey): Caller => letIn({ kind: 'identity', key: dashboardKey(key) }, exchange);
  const known = tokenKeys.known(digest);
  if (known !== undefined) return admit(known);
  return tokenKeys.judge(shown, digest)?.then(({ key, refused }) => {
    if (key !== undefined) return admit(key);
    if (!isUndecided(refused)) failedLogins.fail(exchange.clientAddress, exchange.startedAtMs);
    throw refusalOfToken(refused, exchange, failedLogins);
  });
}

/** Throws 429 `too_many_failed_logins` while no key from the address of the request is looked at. */
export function refusePaused(exchange: Exchange, failedLogins: FailedLogins): void {
  const seconds = failedLogins.pause(exchange.clientAddress, exchange.startedAtMs);
  if (seconds === undefined) return;
  failedLogins.note('paused');
  exchange.caller = { reason: 'paused' };
  // An SDK that waits and sends the same key again would fail again.
  const headers = { 'retry-after': String(seconds), 'x-should-retry': 'false' };
  throw refusal('too_many_failed_logins', { fill: { seconds }, headers });
}

/** A session cannot be guessed, so one that is over is no failure. */
function callerOfSession(session: BrowserSession, exchange: Exchange, access: AdminAccess): Caller {
  const { credentials, failedLogins } = access;
  if (session.kind === 'foreign') throw refusal('csrf_refused');
  if (session.kind === 'over') throw refusal('session_ended');
  if (session.kind === 'unknown') throw keysUnknown();
  const { digest, person } = session;
  const caller = identifySession(session, credentials, access);
  if (caller !== undefined) return letIn(caller, exchange);
  const failed =
    person === undefined
      ? failedDigest(digest, credentials)
      : ({ reason: 'revoked', keyId: personId(person), userPath: person.userPath } as const);
  failedLogins.note(failed.reason);
  exchange.caller = failed;
  throw credentials.isComplete || person !== undefined ? refusal('session_ended') : keysUnknown();
}

function letIn(caller: Caller, exchange: Exchange): Caller {
  const { kind, key } = caller;
  const ofToken = key?.token === undefined ? {} : { tokenKey: key };
  exchange.caller = { kind, keyId: key?.id, userPath: key?.userPath, ...ofToken };
  return caller;
}

function keysUnknown(): Refusal {
  return refusal('store_unavailable', { headers: { 'retry-after': '1' } });
}
