// A managed API key, and its document in the state store.
import { parseMoment } from '../../schemas/formats/moment.ts';
import { timestamp } from '../timestamp.ts';
import { normaliseUserPath } from '../user-path.ts';
import { type ModelAccess, modelAccess } from './model-access.ts';
import { isRole, type Role } from './role.ts';
import type { TokenOfKey } from './token-of-key.ts';

/** The kind of these documents in the state store; the id is a UUID. */
export const authKeyKind = 'auth_key';

/** A managed key. The secret is not stored, only its digest and its last four characters. */
export interface AuthKey {
  readonly id: string;
  readonly name: string;
  readonly description: string | undefined;
  /** The user path of the key, normalised; undefined: the root, unless `anyUserPath`. */
  readonly userPath: string | undefined;
  /** Whether each request may name any user path in a header; false for a key with a user path. */
  readonly anyUserPath: boolean;
  readonly labels: readonly string[];
  /** As written; empty: every model. */
  readonly allowedModels: readonly string[];
  /** `allowedModels`, compiled; undefined: every model. */
  readonly modelAccess: ModelAccess | undefined;
  /** What the key may do on the admin API and the dashboard; undefined: it may not use them. */
  readonly role: Role | undefined;
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
  /** Of a key that stands for a verified token of an identity; such a key is stored nowhere. */
  readonly token?: TokenOfKey;
}

/** The fields of a key that are not computed. */
export type AuthKeyFields = Omit<AuthKey, 'modelAccess'>;

/** A key with its computed fields. */
export function authKey(fields: AuthKeyFields): AuthKey {
  return Object.freeze({ ...fields, modelAccess: modelAccess(fields.allowedModels) });
}

/** Whether a key is accepted at this moment (Unix milliseconds): it is enabled and not expired. */
export function isActive(key: AuthKey, nowMs: number): boolean {
  return key.enabled && nowMs < key.expiresAtMs;
}

/**
 * The key of a document. Undefined when any member is invalid, because a partly read key could grant too much. Unknown members are
 * ignored.
 */
export function readAuthKey(id: string, body: unknown): AuthKey | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const given = body as Readonly<Record<string, unknown>>;
  const { name, digest, created_by: createdBy, redacted_value: redactedValue, description } = given;
  const { enabled, labels = [], allowed_models: allowedModels = [] } = given;
  const userPath = readUserPath(given['user_path']);
  // A key of a version without this member keeps its rights.
  const { any_user_path: anyUserPath = userPath === undefined } = given;
  const role = readRole(given);
  const expiresAtMs = readTime(given['expires_at'], Number.POSITIVE_INFINITY);
  const deactivatedAtMs = readTime(given['deactivated_at'], undefined);
  const createdAtMs = readTime(given['created_at'], undefined);
  const updatedAtMs = readTime(given['updated_at'], undefined);
  if (userPath === null || expiresAtMs === null || deactivatedAtMs === null) return undefined;
  if (typeof createdAtMs !== 'number' || typeof updatedAtMs !== 'number') return undefined;
  if (typeof name !== 'string' || typeof digest !== 'string' || !/^[0-9a-f]{64}$/.test(digest)) return undefined;
  if (typeof createdBy !== 'string' || typeof redactedValue !== 'string') return undefined;
  if (description !== undefined && typeof description !== 'string') return undefined;
  if (role === null || typeof enabled !== 'boolean') return undefined;
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
    role,
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

/** The body of the document, without absent members. */
export function authKeyBody(key: AuthKey): Record<string, unknown> {
  const { description, userPath, labels, allowedModels, deactivatedAtMs, expiresAtMs } = key;
  return {
    name: key.name,
    ...(description === undefined ? {} : { description }),
    ...(userPath === undefined ? {} : { user_path: userPath }),
    any_user_path: key.anyUserPath,
    ...(labels.length === 0 ? {} : { labels }),
    ...(allowedModels.length === 0 ? {} : { allowed_models: allowedModels }),
    ...storedRole(key.role),
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

/**
 * The role in a document. One below admin stands with `dashboard_access: false`, so that versions which know no roles give it no access
 * instead of every right.
 */
function storedRole(role: Role | undefined): object {
  const isAdmin = role === 'admin';
  return { dashboard_access: isAdmin, ...(role === undefined || isAdmin ? {} : { role }) };
}

/** `null`: it is invalid. Keys of versions without roles may do everything. */
function readRole({ dashboard_access: access, role }: Readonly<Record<string, unknown>>): Role | undefined | null {
  if (typeof access !== 'boolean') return null;
  if (role === undefined) return access ? 'admin' : undefined;
  return isRole(role) ? role : null;
}

/** `null`: the path is invalid. */
function readUserPath(value: unknown): string | undefined | null {
  if (value === undefined) return undefined;
  return typeof value === 'string' ? (normaliseUserPath(value).path ?? null) : null;
}

/** `null`: the time is invalid. */
function readTime<Absent>(value: unknown, absent: Absent): number | Absent | null {
  if (value === undefined) return absent;
  return typeof value === 'string' ? (parseMoment(value) ?? null) : null;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
