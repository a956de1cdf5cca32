// Every error that the control plane can answer, in the flat shape of the spec ("Admin error shape").
import { type EntryKindName, entryNouns } from '../domain/documents/kinds.ts';
import { bad, denied, type ErrorEntry, entryOf, type Fill, missing, PlaneRefusal, worded } from '../plane/refusal.ts';
import { type ErrorType, printable } from '../schemas/error-type.ts';

const unstored = (message: string): ErrorEntry => entryOf(503, 'provider_error', message);

type EntryCode = {
  [Kind in EntryKindName]: `too_many_${Kind}s` | `${Kind}_config_owned` | `${Kind}_not_found`;
}[EntryKindName];

/** The errors of each kind of documents that are entries of a list of the configuration. */
const entryErrors = Object.fromEntries(
  Object.entries(entryNouns).flatMap(([kind, noun]) => [
    [`too_many_${kind}s`, bad(`Operators have set {count} ${noun}s already; at most {limit} are allowed.`, 409)],
    [
      `${kind}_config_owned`,
      bad(`The ${noun} "{name}" is declared in {place}. Remove it there, or override it with a PUT.`, 409),
    ],
    [`${kind}_not_found`, missing(`There is no ${noun} "{name}".`)],
  ]),
) as Record<EntryCode, ErrorEntry>;

/** Codes are stable and for programs; messages are for people and may change. `{x}` is filled from the details. */
export const errors = {
  ...entryErrors,
  malformed_request: bad('The HTTP request is malformed.'),
  invalid_path: bad('The request path is not acceptable; check its percent-encoding.'),
  headers_too_large: bad('The request line and headers are too large. Send at most 16 KiB.', 431),
  request_timeout: bad('The request did not arrive in time. Send headers and body without long pauses.', 408),
  expectation_failed: bad('Only "Expect: 100-continue" is supported.', 417),
  method_not_allowed: bad('Method {method} is not allowed for {path}. Allowed: {allow}.', 405),
  unsupported_media_type: bad('Send the body as "Content-Type: application/json" (UTF-8).', 415),
  unsupported_encoding: bad('Send the body without Content-Encoding; compressed requests are not supported.', 415),
  body_too_large: bad('The body is too large. Send at most {limit} bytes.', 413),
  invalid_json: bad('The body is not valid JSON. Send one JSON object.'),
  body_too_deep: bad('The body nests deeper than {limit} levels.'),
  body_too_many_values: bad('The body has too many members and list entries. Send at most {limit}.'),
  invalid_member: bad('The member {member} {problem}.'),
  secret_in_request: bad(
    '{where} holds a key or password of this gateway, which would be stored and shown. Nothing was changed. Send it without.',
  ),
  invalid_query: bad('The query parameter {name} {problem}.'),
  invalid_header: bad('The header {name} {problem}.'),
  reset_not_confirmed: bad('The member "confirmation" must be exactly "reset". Nothing was cleared.'),
  too_many_rate_limits: bad('There are {count} rate limits {where} already; at most {limit} are allowed.', 409),
  too_many_auth_keys: bad(
    'There are {count} keys {where} already; at most {limit} are allowed (the section admin of the configuration). Delete some first.',
    409,
  ),
  auth_key_config_owned: bad(
    'The key "{id}" is declared in {place}. Change or remove it there: the API only shows it.',
    409,
  ),
  auth_key_inactive: bad('The key "{id}" is revoked or has expired, so it cannot be rotated. Issue a new one.', 409),
  too_many_budgets: bad('There are {count} budgets {where} already; at most {limit} are allowed.', 409),
  budget_config_owned: bad('This budget is declared in {place}. Remove it there, or override it with a PUT.', 409),
  budget_not_found: missing('There is no such budget.'),
  config_pin_not_found: missing('No revision of the configuration is pinned.'),
  config_too_large_to_pin: bad(
    'The files of the revision {revision} take {bytes} bytes when they are packed, and a pin may have {limit}. Nothing was changed; revert them in their directory.',
    413,
  ),
  no_config_rollout: bad('There is no rollout of the configuration that could be {done} now.', 409),
  config_rollout_not_ready: bad('The revision cannot be rolled out now: {problem}. Try again in a moment.', 409),
  target_not_found: missing('The configuration has no provider or model "{name}"{guess}'),
  target_drain_not_found: missing('"{name}" is not taken out.'),
  too_many_target_drains: bad('Operators have taken out {count} targets already; at most {limit} are allowed.', 409),
  virtual_model_in_use: bad('The virtual model "{source}" is a target of {users}. Change those first.', 409),
  rate_limit_config_owned: bad(
    'This rate limit is declared in {place}. Remove it there, or override it with a PUT.',
    409,
  ),
  quota_templates_not_entitled: denied(
    'A template (per_child) needs the entitlement quota_templates (GATEWAY_ENTITLEMENTS). Nothing was stored.',
  ),
  rate_limit_not_found: missing('There is no such rate limit.'),
  config_revision_not_found: missing('{what}. GET /admin/config/revisions lists those that are kept.'),
  precondition_failed: bad('The resource has changed since; its entity tag is {current} now. Read it again.', 412),
  write_conflict: bad('Other requests kept changing the same data. Nothing was changed; try again.', 409),
  store_unavailable: unstored('The {store} cannot be used ({reason}){consequence}.'),
  store_full: unstored('The state store is full. Nothing was changed; free some space in it.'),
  store_evicts: unstored(
    'The state store may drop rules and keys by itself, so it gets no new ones. Nothing was changed; set maxmemory-policy of Redis to noeviction.',
  ),
  store_unreplicated: unstored(
    'The change is in the state store, but too few of its replicas have it (REDIS_WAIT_REPLICAS), so a failover now would undo it. Read the current state before you try again.',
  ),
  store_read_only: unstored('The state store is read-only. Nothing was changed; make it writable.'),
  ambiguous_credentials: bad('The request carries more than one credential. Send exactly one key.'),
  // One answer for every failure, so that a caller without a key cannot find out which keys exist.
  invalid_api_key: entryOf(
    401,
    'authentication_error',
    'The API key is missing or not valid. Send "Authorization: Bearer <key>".',
  ),
  // The reason names a check of the token and, where it is the configuration's doing, its place: never the token or the value of a claim.
  invalid_token: entryOf(401, 'authentication_error', 'The token is not valid: {reason}.'),
  identity_unavailable: unstored('The token cannot be checked now: {reason}. Try again.'),
  session_ended: entryOf(401, 'authentication_error', 'The session is over. Log in again.'),
  session_not_needed: bad('This gateway runs without a master key, so there are no sessions. Ask without one.', 409),
  sign_in_not_found: missing('The configuration has no identity "{name}" to sign in with.'),
  sign_in_not_begun: bad(
    'This browser has begun no sign-in here within the last ten minutes, or another one since. Sign in again.',
  ),
  sign_in_unavailable: unstored('{title} cannot be used now: {reason}. Try again later, or log in with a key.'),
  too_many_sign_ins: unstored('Too many sign-ins are under way. Try again in a moment, or log in with a key.'),
  sign_in_denied: denied('{title} has refused the sign-in ({reason}).'),
  sign_in_invalid: entryOf(401, 'authentication_error', 'The answer of {title} was refused: {reason}. Sign in again.'),
  sign_in_without_rights: denied(
    'You have signed in with {title}, which gives you no access to the dashboard: {reason}.',
  ),
  csrf_refused: denied(
    'A write with a session needs the header x-csrf-token, with csrf_token of GET /admin/session, from a page of this address.',
  ),
  too_many_failed_logins: entryOf(
    429,
    'rate_limit_error',
    'Too many failed attempts to log in from this address. Retry in {seconds} s; until then no key from this address is looked at.',
  ),
  foreign_host: denied(
    'Without a master key only names of this machine are served, such as localhost; "{host}" is not one. Set GATEWAY_MASTER_KEY.',
  ),
  foreign_origin: denied('Without a master key a web page of another origin must not write. Set GATEWAY_MASTER_KEY.'),
  dashboard_access_denied: denied(
    'This key does not open the admin API. Use the master key or a key with dashboard access.',
  ),
  role_denied: denied('This needs the role {needed}; the caller has the role {role}.'),
  admin_scope_denied: denied('This key may not {what}.'),
  audit_entry_not_found: missing('There is no audit entry with the id "{id}".'),
  too_many_listeners: unstored('{count} streams of entries are open {where} already. Close some, or try again later.'),
  too_many_exports: unstored('{count} exports are under way already. Try again when one of them has ended.'),
  auth_key_not_found: missing('There is no key with the id "{id}".'),
  answered_by_proxies: missing(
    'Ask a proxy for GET {path}: it answers by its own counters, which the control plane does not have.',
  ),
  route_not_found: missing('There is no {method} {path} here.'),
  internal_error: entryOf(
    500,
    'provider_error',
    'The control plane failed unexpectedly. Quote request id {request_id} to your operator.',
  ),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errors;

/** Details that a refusal adds to its table entry. */
export interface Details {
  /** The wrong member of the request. It is escaped like the message, because its name may come from the client. */
  readonly param?: string;
  /** Values for the placeholders of the message. */
  readonly fill?: Fill;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The body of every error answer of the control plane; `param` is optional. */
export interface AdminError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly param?: string;
  readonly status_code: number;
  readonly type: ErrorType;
}

/** A refusal from the table; the values of its placeholders are escaped. */
export function refusal(code: ErrorCode, { fill, ...details }: Details = {}): Refusal {
  return new Refusal(worded(errors[code], fill), code, details);
}

/** The refusal as the flat admin error (spec "Admin error shape", design section 4). */
export function describeRefusal(refused: Refusal): AdminError {
  const { code, message, param, status, type } = refused;
  return { code, message, ...(param === undefined ? {} : { param }), status_code: status, type };
}

/** An error answer on its way to the client: thrown anywhere, rendered by the server alone. */
export class Refusal extends PlaneRefusal<ErrorCode> {
  readonly param: string | undefined;

  constructor(entry: ErrorEntry, code: ErrorCode, { param, headers }: Omit<Details, 'fill'>) {
    super(entry, code, headers);
    this.param = param ? printable(param) : undefined;
  }
}
