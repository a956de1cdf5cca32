// A key as answers show it: every member except its digest.

import { type AuthKey, authKeyBody, isActive } from '../../../domain/keys/auth-key.ts';
import { isConfigKey } from '../../../domain/keys/config-key.ts';
import { timestamp } from '../../../domain/timestamp.ts';

const hourMs = 3_600_000;

/** The facts of a record besides the stored key. */
export interface RecordFacts {
  /** Unix milliseconds; `active` is as of this time. */
  readonly nowMs: number;
  /** The store did not answer, and the key is the one in force here. */
  readonly isStale?: boolean;
  /** The hour of the last use: whole hours since 1970. Undefined: never, or not known. */
  readonly usedHour?: number | undefined;
  /** Whether its hash is told, for an entry of the configuration. */
  readonly hasHash?: boolean;
  /** Where the configuration declares it. */
  readonly declaredAt?: string | undefined;
  /** The id of the key of the configuration with the same secret. */
  readonly replacedBy?: string | undefined;
}

/** The record of `schemas/admin/auth-key.schema.json`. */
export function keyRecord(
  key: AuthKey,
  { nowMs, isStale = false, usedHour, hasHash = false, declaredAt, replacedBy }: RecordFacts,
): object {
  const isDeclared = isConfigKey(key);
  const { digest, redacted_value, created_at, updated_at, ...shown } = shownBody(key);
  return {
    id: key.id,
    source: isDeclared ? 'config' : 'manual',
    ...shown,
    // The configuration has neither the secret nor dates.
    ...(isDeclared ? {} : { redacted_value, created_at, updated_at }),
    active: isActive(key, nowMs),
    ...(hasHash ? { hash: `sha256:${String(digest)}` } : {}),
    ...(declaredAt === undefined ? {} : { declared_at: declaredAt }),
    ...(replacedBy === undefined ? {} : { replaced_by: replacedBy }),
    ...(usedHour === undefined ? {} : { last_used_at: timestamp(usedHour * hourMs) }),
    ...(isStale ? { stale: true } : {}),
  };
}

/**
 * The fields of a log line about a key: its rights and its end, never its secret. Null: there is no key, or it cannot
 * be read.
 */
export function keyFacts(key: AuthKey | undefined, nowMs: number): object | null {
  if (key === undefined) return null;
  const { digest: _, redacted_value: __, created_at: ___, updated_at: ____, ...said } = shownBody(key);
  return { ...said, active: isActive(key, nowMs) };
}

/** The document, with what its role says in words. */
function shownBody(key: AuthKey): Record<string, unknown> {
  const { role } = key;
  return { ...authKeyBody(key), dashboard_access: role !== undefined, ...(role === undefined ? {} : { role }) };
}
