// A verified token as a key: so rules, budgets, records and sessions treat its caller as they treat the holder of a key.
import type { IdentityRights } from '../identities/rights.ts';
import type { AuthKey } from './auth-key.ts';
import { modelAccess } from './model-access.ts';
import type { TokenOfKey } from './token-of-key.ts';

/** What is known of a token besides its rights. */
export interface VerifiedToken extends Pick<TokenOfKey, 'identity' | 'claims' | 'bytes'> {
  /** SHA-256 of the token, in hex. */
  readonly digest: string;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

/** The key that a token stands for. */
export function tokenKey(
  { identity, claims, bytes, digest, expiresAtMs }: VerifiedToken,
  rights: IdentityRights,
): AuthKey {
  const { id, subject, userPath, labels, allowedModels, dashboard, because } = rights;
  return Object.freeze({
    id,
    name: subject,
    description: undefined,
    userPath,
    anyUserPath: false,
    labels,
    allowedModels,
    modelAccess: modelAccess(allowedModels),
    role: dashboard?.role,
    digest,
    redactedValue: '',
    enabled: true,
    expiresAtMs,
    deactivatedAtMs: undefined,
    createdAtMs: 0,
    updatedAtMs: 0,
    createdBy: identity.name,
    token: Object.freeze({ identity, claims, subject, dashboard, because, bytes }),
  });
}

/** The key with which the caller uses the admin API: a token may have another user path there. */
export function dashboardKey(key: AuthKey): AuthKey {
  const path = key.token?.dashboard?.userPath;
  return path === undefined || path === key.userPath ? key : { ...key, userPath: path };
}
