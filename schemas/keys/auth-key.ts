// A managed API key as a document of the state store: its shape, reading it with suspicion, and whether it lets in.
import { parseMoment } from '../rules/moment.ts';
import { timestamp } from '../timestamp.ts';
import { normaliseUserPath } from '../user-path.ts';
import { type ModelAccess, modelAccess } from './model-access.ts';

/** The kind of these documents in the state store; the id is a UUID. */
export const authKeyKind = 'auth_key';

/** A managed key. The secret itself is nowhere: only its digest and its last four characters. */
export interface AuthKey {
  readonly id: string;
  readonly name: string;
  readonly description: string | undefined;
  /** The consumer the key stands for, normalised; undefined: the root, unless `anyUserPath`. */
  readonly userPath: string | undefined;
  /** Whether a request may name its consumer itself, any there is; false for a key with a user path. */
  readonly anyUserPath: boolean;
  readonly labels: readonly string[];
  /** As written; empty: every model. */
  readonly allowedModels: readonly string[];
  /** The same, compiled; undefined: every model. */
  readonly modelAccess: ModelAccess | undefined;
  /** Whether it opens the admin API and the dashboard. */
  readonly dashboardAccess: boolean;
  /** SHA-256 of the secret, in hex. Never leaves the gateway. */
  readonly digest: string;
  readonly redactedValue: string;
  readonly enabled: boolean;
  /** Unix milliseconds; from then on the key is refused. Infinity: never. */
  readonly expiresAtMs: number;
  readonly deactivatedAtMs: number | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** `master_key`, `anonymous`, or the id of the key that issued it. */
  readonly createdBy: string;
}

/** What has to be said of a key; what follows from it is worked out. */
export type AuthKeyFields = Omit<AuthKey, 'modelAccess'>;

/** A key with what follows from its fields. */
export function authKey(fields: AuthKeyFields): AuthKey {
  return Object.freeze({ ...fields, modelAccess: modelAccess(fields.allowedModels) });
}

/** Whether a key lets in at this moment (Unix milliseconds): it is switched on, and its last millisecond has not come. */
export function isActive(key: AuthKey, nowMs: number): boolean {
  return key.enabled && nowMs < key.expiresAtMs;
}

/** Keys by the digest of their secret. Of two with one secret the first counts. */
export function keysByDigest(keys: Iterable<AuthKey>): ReadonlyMap<string, AuthKey> {
  const found = new Map<string, AuthKey>();
  for (const key of keys) if (!found.has(key.digest)) found.set(key.digest, key);
  return found;
}

/** What a body was read as: of many documents, a change leaves all but one as they are. */
const readBefore = new WeakMap<object, { readonly id: string; readonly key: AuthKey | undefined }>();

/**
 * The key a document describes. Undefined when any member is not what it should be: a key that is half understood could grant more
 * than was meant. Unknown members are left alone. A body is never changed, so it is read once.
 */
export function readAuthKey(id: string, body: unknown): AuthKey | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const before = readBefore.get(body);
  if (before?.id === id) return before.key;
  const key = parse(id, body);
  readBefore.set(body, { id, key });
  return key;
}

function parse(id: string, body: object): AuthKey | undefined {
  const given = body as Readonly<Record<string, unknown>>;
  const { name, digest, created_by: createdBy, redacted_value: redactedValue, description } = given;
  const { dashboard_access: dashboardAccess, enabled, labels = [], allowed_models: allowedModels = [] } = given;
  const userPath = readUserPath(given['user_path']);
  // Keys from before this member was there keep what they could do.
  const { any_user_path: anyUserPath = userPath === undefined } = given;
  const expiresAtMs = readTime(given['expires_at'], Number.POSITIVE_INFINITY);
  const deactivatedAtMs = readTime(given['deactivated_at'], undefined);
  const createdAtMs = readTime(given['created_at'], undefined);
  const updatedAtMs = readTime(given['updated_at'], undefined);
  if (userPath === null || expiresAtMs === null || deactivatedAtMs === null) return undefined;
  if (typeof createdAtMs !== 'number' || typeof updatedAtMs !== 'number') return undefined;
  if (typeof name !== 'string' || typeof digest !== 'string' || !/^[0-9a-f]{64}$/.test(digest)) return undefined;
  if (typeof createdBy !== 'string' || typeof redactedValue !== 'string') return undefined;
  if (description !== undefined && typeof description !== 'string') return undefined;
  if (typeof dashboardAccess !== 'boolean' || typeof enabled !== 'boolean') return undefined;
  if (typeof anyUserPath !== 'boolean' || (anyUserPath && userPath !== undefined)) return undefined;
  if (!isTexts(labels) || !isTexts(allowedModels)) return undefined;
  return authKey({
    id,
    name,
    description,
    userPath,
    anyUserPath,
    labels,
    allowedModels,
    dashboardAccess,
    digest,
    redactedValue,
    enabled,
    expiresAtMs,
    deactivatedAtMs,
    createdAtMs,
    updatedAtMs,
    createdBy,
  });
}

/** The body of the document; what is not there is left out. */
export function authKeyBody(key: AuthKey): Record<string, unknown> {
  const { description, userPath, labels, allowedModels, deactivatedAtMs, expiresAtMs } = key;
  return {
    name: key.name,
    ...(description === undefined ? {} : { description }),
    ...(userPath === undefined ? {} : { user_path: userPath }),
    any_user_path: key.anyUserPath,
    ...(labels.length === 0 ? {} : { labels }),
    ...(allowedModels.length === 0 ? {} : { allowed_models: allowedModels }),
    dashboard_access: key.dashboardAccess,
    digest: key.digest,
    redacted_value: key.redactedValue,
    enabled: key.enabled,
    ...(expiresAtMs === Number.POSITIVE_INFINITY ? {} : { expires_at: timestamp(expiresAtMs) }),
    ...(deactivatedAtMs === undefined ? {} : { deactivated_at: timestamp(deactivatedAtMs) }),
    created_at: timestamp(key.createdAtMs),
    updated_at: timestamp(key.updatedAtMs),
    created_by: key.createdBy,
  };
}

/** `null`: there is a path, but none that can be used. */
function readUserPath(value: unknown): string | undefined | null {
  if (value === undefined) return undefined;
  return typeof value === 'string' ? (normaliseUserPath(value).path ?? null) : null;
}

/** `null`: there is a moment, but none that can be read. */
function readTime<Absent>(value: unknown, absent: Absent): number | Absent | null {
  if (value === undefined) return absent;
  return typeof value === 'string' ? (parseMoment(value) ?? null) : null;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
