// A managed key as answers show it: every member except its digest.
import { type AuthKey, authKeyBody, isActive } from '../../../schemas/keys/auth-key.ts';

/** The record of `schemas/admin/auth-key.schema.json`; `active` as of now (Unix milliseconds). */
export function keyRecord(key: AuthKey, nowMs: number): object {
  const { digest: _, ...shown } = authKeyBody(key);
  return { id: key.id, ...shown, active: isActive(key, nowMs) };
}
