// Keys that the configuration declares: each becomes a key like those of the admin API, except that it is stored nowhere.
import { parseMoment } from '../../schemas/formats/moment.ts';
import type { ConfigKey } from '../../schemas/types.ts';
import { normaliseUserPath } from '../user-path.ts';
import { type AuthKey, authKey } from './auth-key.ts';

/** The beginning of the ids of these keys; the id of a stored key is a UUID. */
const prefix = 'config:';

/** The id of the key with this name. */
export function configKeyId(name: string): string {
  return prefix + name;
}

/** Whether the configuration declares the key. */
export function isConfigKey({ id }: Pick<AuthKey, 'id'>): boolean {
  return id.startsWith(prefix);
}

/** SHA-256 in hex, of a `hash` as it is written. */
export function digestOfHash(hash: string): string {
  return hash.replace(/^sha256:/, '');
}

/** The keys of checked entries, without those whose file was not read. They have no dates: the configuration does not say since when they are there. */
export function configKeys(entries: readonly ConfigKey[]): readonly AuthKey[] {
  return entries.flatMap(({ hash, ...entry }) =>
    hash === undefined
      ? []
      : authKey({
          id: configKeyId(entry.name),
          name: entry.name,
          description: entry.description,
          userPath: entry.user_path === undefined ? undefined : normaliseUserPath(entry.user_path).path,
          anyUserPath: entry.any_user_path,
          labels: entry.labels ?? [],
          allowedModels: entry.allowed_models ?? [],
          role: entry.dashboard_access ? (entry.role ?? 'admin') : undefined,
          digest: digestOfHash(hash),
          redactedValue: '',
          enabled: entry.enabled,
          expiresAtMs: parseMoment(entry.expires_at ?? '') ?? Number.POSITIVE_INFINITY,
          deactivatedAtMs: undefined,
          createdAtMs: 0,
          updatedAtMs: 0,
          createdBy: 'config',
        }),
  );
}

/**
 * Of two keys with the same secret the one that counts: the one of the configuration, with its rights, otherwise the first one. A stored key
 * that was deactivated is not let in by an entry of the configuration.
 */
export function counting(one: AuthKey, other: AuthKey): AuthKey {
  if (isConfigKey(one) === isConfigKey(other)) return one;
  const [declared, stored] = isConfigKey(one) ? [one, other] : [other, one];
  if (stored.enabled || !declared.enabled) return declared;
  return authKey({ ...declared, enabled: false, deactivatedAtMs: stored.deactivatedAtMs });
}
