// Authenticates operators: the master key, or a managed key with dashboard access, which may be scoped to a user path.
import type { IncomingMessage } from 'node:http';
import { type AuthKey, isActive } from '../domain/keys/auth-key.ts';
import { clientAddressHeader, plainAddress, readClientAddress } from '../domain/keys/client-address.ts';
import { isConfigKey } from '../domain/keys/config-key.ts';
import {
  bearerToken,
  type Caller,
  type Credentials,
  type FailedLogin,
  failedDigest,
  failedLogin,
  identify,
} from '../domain/keys/credentials.ts';
import { isEnded, noEndedSessions } from '../domain/keys/ended-sessions.ts';
import { identifySession, noPeople, type PeopleInForce } from '../domain/keys/identify-session.ts';
import { type Person, personId } from '../domain/keys/person.ts';
import { lackOf, mayDo, type Role } from '../domain/keys/role.ts';
import { digestOf } from '../domain/keys/secret.ts';
import { dashboardKey } from '../domain/keys/token-key.ts';
import { isWithin } from '../domain/user-path.ts';
import { type BrowserSession, browserSession } from '../plane/access/browser-session.ts';
import { clientAddressOf, type TrustedProxies } from '../plane/access/client-address.ts';
import type { FailedLogins } from '../plane/access/failed-logins.ts';
import type { KeyUses } from '../plane/access/key-uses.ts';
import { foreignPart } from '../plane/access/own-names.ts';
import { failedToken, isUndecided } from '../plane/access/refused-token.ts';
import type { TokenKeys } from '../plane/identities/token-keys.ts';
import { type Right, rightOf } from '../schemas/admin-rights.ts';
import { StoreUnavailable } from '../store/state/store-unavailable.ts';
import { type Refusal, refusal } from './errors.ts';
import type { FailedLoginLines } from './failed-login-lines.ts';

/** The access of a route: `public`, no key is needed; or the right that an operator needs. */
export type Access = 'public' | Right;

/** The caller of a request, after authentication. */
export interface Operator {
  readonly kind: Caller['kind'];
  /** The managed key's id; of a person `NAME:SUBJECT`. */
  readonly keyId: string | undefined;
  /** Of a person without a key: the name in records. Absent: the id of the key, or the kind. */
  readonly name?: string | undefined;
  /** What the operator may do within its user path. */
  readonly role: Role;
  /** The operator sees and changes this user path and the paths below it; `/` is the whole gateway. */
  readonly userPath: string;
  /** The managed key, or that of a person; an operator cannot grant more rights than this key has. */
  readonly key: AuthKey | undefined;
  /** SHA-256 of the master key in hex, for an operator who has it. */
  readonly masterKeyDigest?: string | undefined;
  /** Of a browser that has logged in; absent for a request with a key. */
  readonly session?: OpenSession;
}

type OpenSession = Extract<BrowserSession, { readonly kind: 'open' }>;

/** The parts of the process that authentication uses. */
export interface AccessParts {
  /** The keys in force. */
  credentials(): Credentials;
  /** The people who may be signed in; absent: none. */
  people?(): PeopleInForce;
  readonly failedLogins: FailedLogins;
  /** Hears of each of them, too. */
  readonly failedLoginLines?: Pick<FailedLoginLines, 'note'>;
  /** Proves that the header with the client's address comes from a proxy; absent: the address of the socket counts. */
  readonly masterKey: string | undefined;
  /** The secrets of the gateway that this process knows: none of them may stand in a request of an operator. Default: the master key. */
  secrets?(): readonly string[];
  /** Of `server.trusted_proxies`; absent: none. */
  trustedProxies?(): TrustedProxies | undefined;
  /** The names in `Host` that are served without a master key. Absent with a master key. */
  readonly ownNames?: ReadonlySet<string> | undefined;
  /** The time by which keys and sessions end (`authorityClock`). Unix milliseconds. */
  nowMs(): number;
  /** Hears of each request that a managed key was let in with. */
  readonly keyUses?: Pick<KeyUses, 'note'>;
  /** The tokens of identities. Absent: there are none. */
  readonly tokenKeys?: Pick<TokenKeys, 'known' | 'judge' | 'now'>;
}

/** See `AccessParts`. */
export function secretsOf({ masterKey, secrets }: Pick<AccessParts, 'masterKey' | 'secrets'>): readonly string[] {
  return secrets?.() ?? (masterKey === undefined ? [] : [masterKey]);
}

/** A caller without a key: may use public routes, and every route of a gateway without a master key. */
export const anonymous: Operator = Object.freeze({
  kind: 'anonymous',
  keyId: undefined,
  role: 'admin',
  userPath: '/',
  key: undefined,
});

/** What a route needs: what it declares itself, else its row of `adminRights`. Throws at the start when there is neither. */
export function accessOf(method: string, url: string, declared?: Access): Access {
  const access = declared ?? rightOf(method, url);
  if (access !== undefined) return access;
  throw new Error(`the route ${method} ${url} needs a row in schemas/admin-rights.ts, or config: { access: 'public' }`);
}

/** Refuses requests of foreign web pages to a gateway without a master key. Throws 403 `foreign_host`, `foreign_origin`. */
export function refuseForeign(request: IncomingMessage, { ownNames }: AccessParts): void {
  if (ownNames === undefined) return;
  const { method = '', headers, socket } = request;
  const { host, origin } = headers;
  const foreign = foreignPart({ method, host, origin, localAddress: socket.localAddress }, ownNames);
  if (foreign === 'host') throw refusal('foreign_host', { fill: { host: host ?? '' } });
  if (foreign === 'origin') throw refusal('foreign_origin');
}

/**
 * The operator of a request (spec: Authentication 2 and 4), by its key or by the session of its browser. Throws 401 `invalid_api_key`
 * for every failure, in the pause of an address with too many of them 429 `too_many_failed_logins` for every key; 400 `ambiguous_credentials`; 403 `dashboard_access_denied`; 401
 * `session_ended`; 403 `csrf_refused`; `StoreUnavailable` for an unknown key while the keys could not be read. Of a token 401 `invalid_token`,
 * 503 `identity_unavailable`; one that is not known yet gives a promise.
 */
export function authenticate(request: IncomingMessage, parts: AccessParts): Operator | Promise<Operator> {
  const [authorization, another] = valuesOf(request, 'authorization');
  if (another !== undefined) {
    note({ reason: 'ambiguous' }, request, parts);
    throw refusal('ambiguous_credentials');
  }
  const session = browserSession(request, { ...parts.credentials(), masterKey: parts.masterKey }, parts.nowMs());
  if (session !== undefined) return operatorOfSession(session, request, parts);
  const shown = bearerToken(authorization);
  return operatorOfToken(shown, request, parts) ?? logIn(shown, authorization !== undefined, request, parts);
}

/** The operator of a token of an identity. Undefined: it is none; a managed key comes first, whatever its form. */
function operatorOfToken(
  shown: string | undefined,
  request: IncomingMessage,
  parts: AccessParts,
): Operator | Promise<Operator> | undefined {
  const { tokenKeys, failedLogins } = parts;
  if (shown === undefined || tokenKeys === undefined) return undefined;
  const digest = digestOf(shown);
  const { keys, masterKeyDigest } = parts.credentials();
  if (digest === masterKeyDigest || keys.get(digest) !== undefined) return undefined;
  refusePaused(request, parts);
  const known = tokenKeys.known(digest);
  if (known !== undefined) return admitted({ kind: 'identity', key: known }, request, parts);
  return tokenKeys.judge(shown, digest)?.then(({ key, refused }) => {
    if (key !== undefined) return admitted({ kind: 'identity', key }, request, parts);
    note(failedToken(refused), request, parts);
    const fill = { reason: refused.message };
    if (isUndecided(refused)) throw refusal('identity_unavailable', { fill, headers: { 'retry-after': '1' } });
    failedLogins.fail(addressOf(request, parts), parts.nowMs());
    throw refusal('invalid_token', { fill, headers: { 'www-authenticate': 'Bearer' } });
  });
}

/** The operator with this key; throws as `authenticate` does. `wasSent`: the request has a key, maybe not in a form that can be read. */
export function logIn(
  shown: string | undefined,
  wasSent: boolean,
  request: IncomingMessage,
  parts: AccessParts,
): Operator {
  const nowMs = parts.nowMs();
  if (shown !== undefined) refusePaused(request, parts);
  const credentials = parts.credentials();
  const caller = identify(shown, credentials, nowMs);
  if (caller === undefined) note(failedLogin(shown, wasSent, credentials), request, parts);
  // A request without a key does not guess one, so it is not counted as a failed login.
  if (caller === undefined && shown === undefined) throw unknownKey();
  if (caller === undefined && !credentials.isComplete) throw keysUnknown();
  if (caller === undefined) {
    parts.failedLogins.fail(addressOf(request, parts), nowMs);
    throw unknownKey();
  }
  return admitted(caller, request, parts);
}

/** Throws 429 `too_many_failed_logins` while the address of the request is in a pause. */
export function refusePaused(request: IncomingMessage, parts: AccessParts): void {
  const seconds = parts.failedLogins.pause(addressOf(request, parts), parts.nowMs());
  if (seconds === undefined) return;
  note({ reason: 'paused' }, request, parts);
  throw paused(seconds);
}

/** Counts a sign-in that was refused as a failed login of the address. */
export function failSignIn(reason: 'unknown' | 'denied', request: IncomingMessage, parts: AccessParts): void {
  note({ reason }, request, parts);
  parts.failedLogins.fail(addressOf(request, parts), parts.nowMs());
}

/** A session cannot be guessed, so one that is over is not counted as a failed login. Its key is looked up as if it had been sent. */
function operatorOfSession(session: BrowserSession, request: IncomingMessage, parts: AccessParts): Operator {
  if (session.kind === 'foreign') throw refusal('csrf_refused');
  if (session.kind === 'over') throw refusal('session_ended');
  if (session.kind === 'unknown') throw keysUnknown();
  const credentials = parts.credentials();
  const { digest, person } = session;
  const caller = identifySession(session, credentials, { people: parts.people?.(), nowMs: parts.nowMs() });
  if (caller !== undefined) return { ...admitted(caller, request, parts), session };
  note(person === undefined ? failedDigest(digest, credentials) : withoutRights(person), request, parts);
  throw credentials.isComplete || person !== undefined ? refusal('session_ended') : keysUnknown();
}

function withoutRights(person: Person): FailedLogin {
  return { reason: 'revoked', keyId: personId(person), userPath: person.userPath };
}

function admitted({ kind, key }: Caller, request: IncomingMessage, parts: AccessParts): Operator {
  if (key === undefined && kind === 'anonymous') return anonymous;
  if (key === undefined) return { ...anonymous, kind, masterKeyDigest: parts.credentials().masterKeyDigest };
  if (key.role === undefined) note({ reason: 'denied', keyId: key.id }, request, parts);
  const operator = operatorOf(key, kind);
  parts.keyUses?.note(key.id, parts.nowMs());
  return operator;
}

function keysUnknown(): StoreUnavailable {
  return new StoreUnavailable('unreachable', 'the keys are not known yet');
}

/** Throws 403 `role_denied` for an operator with a lesser role, `admin_scope_denied` for a scoped one where it needs the whole gateway. */
export function refuseLesser(operator: Operator, needed: Right): void {
  refuseRole(operator, needed.role);
  if (lackOf(operator, needed) === undefined) return;
  throw refusal('admin_scope_denied', { fill: { what: 'use this route: it needs a key for the whole gateway' } });
}

/** Throws 403 `role_denied` for an operator with a lesser role. */
export function refuseRole({ role }: Pick<Operator, 'role'>, needed: Role): void {
  if (!mayDo(role, needed)) throw refusal('role_denied', { fill: { needed, role } });
}

/** Whether the operator is limited to a user path and the paths below it. */
export function isScoped({ userPath }: Operator): boolean {
  return userPath !== '/';
}

/** Whether the operator may see and change something of this user path (undefined: of the whole gateway). */
export function isInScope(operator: Operator, userPath: string | undefined): boolean {
  return !isScoped(operator) || (userPath !== undefined && isWithin(userPath, operator.userPath));
}

/** The name of an operator in audit fields: `master_key`, `anonymous`, the id of a key, or the name of a person. */
export function who({ operator }: { readonly operator: Operator }): string {
  return operator.name ?? operator.keyId ?? operator.kind;
}

/**
 * The operator with the rights of its key as `stored` gives it, because the copy in this process may be older. A key of the configuration and a
 * token are nowhere newer than in this process. Throws 401 when the key is deleted or not active, 403 `dashboard_access_denied`.
 */
export function refreshOperator(
  operator: Operator,
  stored: (id: string) => AuthKey | undefined,
  nowMs: number,
): Operator {
  if (operator.kind !== 'managed_key' || operator.key === undefined || isConfigKey(operator.key)) return operator;
  return operatorWith(stored(operator.key.id), nowMs);
}

function operatorWith(key: AuthKey | undefined, nowMs: number): Operator {
  if (key === undefined || !isActive(key, nowMs)) throw unknownKey();
  return operatorOf(key, key.token === undefined ? 'managed_key' : 'identity');
}

/**
 * The operator of a request that goes on, with the rights that it has now. Undefined: its key was revoked, deleted, or has expired, or has not the
 * right any more that the request needs, the master key was replaced, the session was ended, or the person has these rights no longer.
 */
export function operatorNow(
  operator: Operator,
  access: Pick<AccessParts, 'credentials' | 'people' | 'nowMs' | 'tokenKeys'>,
  needed: Right,
): Operator | undefined {
  const now = inForceNow(operator, access);
  return now !== undefined && lackOf(now, needed) === undefined ? now : undefined;
}

/**
 * The operator of a request whose body has come, which may take a minute, with the rights that it has by then. Throws 401 `invalid_api_key`, of a
 * session `session_ended`, and what `refuseLesser` throws.
 */
export function operatorAfterBody(operator: Operator, access: AccessParts, needed: Right): Operator {
  const now = inForceNow(operator, access);
  const { session } = operator;
  if (now === undefined) throw session === undefined ? unknownKey() : refusal('session_ended');
  refuseLesser(now, needed);
  return session === undefined ? now : { ...now, session };
}

function inForceNow(
  operator: Operator,
  { credentials, people, nowMs, tokenKeys }: Pick<AccessParts, 'credentials' | 'people' | 'nowMs' | 'tokenKeys'>,
): Operator | undefined {
  const { keys, masterKeyDigest, endedSessions = noEndedSessions } = credentials();
  const { key, session } = operator;
  if (session !== undefined && (session.endsAtMs <= nowMs() || isEnded(session, endedSessions))) return undefined;
  if (key === undefined) return operator.masterKeyDigest === masterKeyDigest ? operator : undefined;
  if (session?.person !== undefined) return (people?.() ?? noPeople)(session.person) ? operator : undefined;
  const now = key.token === undefined ? keys.get(key.digest) : tokenKeys?.now(key);
  try {
    return operatorWith(now?.id === key.id ? now : undefined, nowMs());
  } catch {
    return undefined;
  }
}

function operatorOf(given: AuthKey, kind: Operator['kind']): Operator {
  const key = dashboardKey(given);
  const { id, role, userPath = '/' } = key;
  if (role === undefined) throw refusal('dashboard_access_denied');
  return { kind, keyId: id, role, userPath, key };
}

/** Every value of a header; `request.headers` would keep only the first of two Authorization lines. */
function valuesOf({ rawHeaders }: IncomingMessage, name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}

/** Of the client: as a proxy of the gateway says it, else as trusted proxies do, otherwise of the socket; undefined when that is closed. */
export function addressOf(
  request: IncomingMessage,
  { masterKey, trustedProxies }: Pick<AccessParts, 'masterKey' | 'trustedProxies'>,
): string | undefined {
  const [given, another] = valuesOf(request, clientAddressHeader);
  const vouchedFor = another === undefined ? readClientAddress(given, masterKey) : undefined;
  if (vouchedFor !== undefined) return vouchedFor;
  const { remoteAddress = '' } = request.socket;
  const address = clientAddressOf(plainAddress(remoteAddress), request.rawHeaders, trustedProxies?.());
  return address === undefined || address === '' ? undefined : plainAddress(address);
}

/** Counts a refused request, and has the log tell of it. */
function note(failed: FailedLogin, request: IncomingMessage, parts: AccessParts): void {
  parts.failedLogins.note(failed.reason);
  parts.failedLoginLines?.note(addressOf(request, parts) ?? '', failed, parts.nowMs());
}

/** The address is in a pause. */
function paused(seconds: number): Refusal {
  // An SDK that waits and sends the same key again would fail again.
  const headers = { 'retry-after': String(seconds), 'x-should-retry': 'false' };
  return refusal('too_many_failed_logins', { fill: { seconds }, headers });
}

function unknownKey(): Refusal {
  return refusal('invalid_api_key', { headers: { 'www-authenticate': 'Bearer' } });
}
