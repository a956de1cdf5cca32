// A managed key as answers show it: every member except its digest.
import { type AuthKey, authKeyBody, isActive } from '../../../schemas/keys/auth-key.ts';

/** What a record shows beside the stored key. */
export interface RecordFacts {
  /** Unix milliseconds; `active` is as of this time. */
  readonly nowMs: number;
  /** The store did not answer, and the key is the one in force here. */
  readonly isStale?: boolean;
}

/** The record of `schemas/admin/auth-key.schema.json`. */
export function keyRecord(key: AuthKey, { nowMs, isStale = false }: RecordFacts): object {
  const { digest: _, ...shown } = authKeyBody(key);
  return { id: key.id, ...shown, active: isActive(key, nowMs), ...(isStale ? { stale: true } : {}) };
}
