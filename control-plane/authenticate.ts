// Who operates the gateway: the master key, or a managed key with dashboard access, perhaps confined to a part of the user paths.
import type { IncomingMessage } from 'node:http';
import type { FailedLogins } from '../plane/failed-logins.ts';
import { foreignPart } from '../plane/own-names.ts';
import { type AuthKey, isActive } from '../schemas/keys/auth-key.ts';
import { clientAddressHeader, readClientAddress } from '../schemas/keys/client-address.ts';
import { bearerToken, type Caller, type Credentials, identify } from '../schemas/keys/credentials.ts';
import { isWithin } from '../schemas/user-path.ts';
import { StoreUnavailable } from '../store/state/store-unavailable.ts';
import { type Refusal, refusal } from './errors.ts';

const accesses = ['public', 'operator', 'admin'] as const;

/**
 * Who may use a route. `public`: anybody, without a key. `operator`: the master key or a key with dashboard access, and the route itself
 * confines a scoped one to its user path. `admin`: only who may see the whole gateway.
 */
export type Access = (typeof accesses)[number];

/** Whoever got in. */
export interface Operator {
  readonly kind: Caller['kind'];
  /** The managed key's id. */
  readonly keyId: string | undefined;
  /** The part of the user paths that may be seen and changed; `/` is all of it. */
  readonly userPath: string;
  /** The managed key; what it has is the most it may hand on. */
  readonly key: AuthKey | undefined;
}

/** What operators are checked against. */
export interface AccessParts {
  /** The keys in force. */
  credentials(): Credentials;
  readonly failedLogins: FailedLogins;
  /** Proves that a client's address comes from the proxy; without one only the socket is believed. */
  readonly masterKey: string | undefined;
  /** Without a master key: the only names in `Host` that are served. */
  readonly ownNames?: ReadonlySet<string> | undefined;
  /** Unix milliseconds. */
  nowMs(): number;
}

/** Nobody in particular: may see public routes, and with a gateway without a master key everything. */
const nobody: Operator = Object.freeze({ kind: 'anonymous', keyId: undefined, userPath: '/', key: undefined });

/** Throws when a route (`GET /x`) does not say who may use it: the mistake of a programmer, at start. */
export function checkAccess(access: unknown, route: string): void {
  if (accesses.some((known) => known === access)) return;
  throw new Error(`the route ${route} must say who may use it: config: { access: '${accesses.join("' | '")}' }`);
}

/** Keeps browser pages of others out of a gateway without a master key. Throws 403 `foreign_host`, `foreign_origin`. */
export function refuseForeign(request: IncomingMessage, { ownNames }: AccessParts): void {
  if (ownNames === undefined) return;
  const { method = '', headers, socket } = request;
  const { host, origin } = headers;
  const foreign = foreignPart({ method, host, origin, localAddress: socket.localAddress }, ownNames);
  if (foreign === 'host') throw refusal('foreign_host', { fill: { host: host ?? '' } });
  if (foreign === 'origin') throw refusal('foreign_origin');
}

/**
 * The operator behind a request for a route (spec: Authentication 2 and 4). Throws 401 `invalid_api_key` for every failure, after too
 * many of them 429 `too_many_failed_logins`, 400 `ambiguous_credentials`, 403 `dashboard_access_denied` and `admin_scope_denied`; and
 * `StoreUnavailable` for a key that nobody knows while the keys could not be read yet.
 */
export function authenticate(request: IncomingMessage, access: Access | undefined, parts: AccessParts): Operator {
  if (access === 'public') return nobody;
  const [authorization, another] = valuesOf(request, 'authorization');
  if (another !== undefined) throw refusal('ambiguous_credentials');
  const nowMs = parts.nowMs();
  const shown = bearerToken(authorization);
  const credentials = parts.credentials();
  const caller = identify(shown, credentials, nowMs);
  // Whoever shows no key tries none, so that is not held against anybody.
  if (caller === undefined && shown === undefined) throw unknownKey();
  if (caller === undefined && !credentials.isComplete)
    throw new StoreUnavailable('unreachable', 'the keys are not known yet');
  if (caller === undefined) throw failure(addressOf(request, parts.masterKey), parts.failedLogins, nowMs);
  const { kind, key } = caller;
  if (key === undefined) return kind === 'anonymous' ? nobody : { ...nobody, kind };
  const operator = operatorOf(key);
  // Whatever a route declares, only `operator` opens it to a scoped key.
  if (access !== 'operator' && isScoped(operator))
    throw refusal('admin_scope_denied', { fill: { what: 'This route' } });
  return operator;
}

/** Whether the operator is confined to a part of the user paths. */
export function isScoped({ userPath }: Operator): boolean {
  return userPath !== '/';
}

/** Whether something that belongs to this user path (undefined: to the whole gateway) is the operator's to see and change. */
export function isInScope(operator: Operator, userPath: string | undefined): boolean {
  return !isScoped(operator) || (userPath !== undefined && isWithin(userPath, operator.userPath));
}

/** How audit fields name whoever made a request: `master_key`, `anonymous`, or the id of a key. */
export function who({ operator }: { readonly operator: Operator }): string {
  return operator.keyId ?? operator.kind;
}

/**
 * The operator by what is in the store at this moment, which this process may not have heard of yet: rights are looked at again where
 * they are used. Throws 401 when its key is gone or no longer active, 403 `dashboard_access_denied`.
 */
export function lookAgain(operator: Operator, stored: readonly AuthKey[], nowMs: number): Operator {
  if (operator.key === undefined) return operator;
  const key = stored.find(({ id }) => id === operator.keyId);
  if (key === undefined || !isActive(key, nowMs)) throw unknownKey();
  return operatorOf(key);
}

function operatorOf(key: AuthKey): Operator {
  if (!key.dashboardAccess) throw refusal('dashboard_access_denied');
  return { kind: 'managed_key', keyId: key.id, userPath: key.userPath ?? '/', key };
}

/** Every value of a header; node would keep the first of two Authorization lines. */
function valuesOf({ rawHeaders }: IncomingMessage, name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}

function addressOf(request: IncomingMessage, masterKey: string | undefined): string | undefined {
  const [given, another] = valuesOf(request, clientAddressHeader);
  const vouchedFor = another === undefined ? readClientAddress(given, masterKey) : undefined;
  return vouchedFor ?? request.socket.remoteAddress;
}

function failure(address: string | undefined, failedLogins: FailedLogins, nowMs: number): Refusal {
  const seconds = failedLogins.fail(address, nowMs);
  if (seconds === undefined) return unknownKey();
  // An SDK that waited would only fail again.
  const headers = { 'retry-after': String(seconds), 'x-should-retry': 'false' };
  return refusal('too_many_failed_logins', { fill: { seconds }, headers });
}

function unknownKey(): Refusal {
  return refusal('invalid_api_key', { headers: { 'www-authenticate': 'Bearer' } });
}
