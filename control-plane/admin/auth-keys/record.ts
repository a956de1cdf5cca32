// A managed key as an answer shows it: everything but its digest.
import { type AuthKey, authKeyBody, isActive } from '../../../schemas/keys/auth-key.ts';

/** The record of `schemas/admin/auth-key.schema.json`; `active` as of now (Unix milliseconds). */
export function keyRecord(key: AuthKey, nowMs: number): object {
  const { digest: _, ...shown } = authKeyBody(key);
  return { id: key.id, ...shown, active: isActive(key, nowMs) };
}
