// Issued keys as entries of the configuration: their rights, and the hashes of their secrets. Pure.
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import { timestamp } from '../../domain/timestamp.ts';
import type { ConfigKey } from '../../schemas/types.ts';

export type KeyEntry = Partial<ConfigKey> & Pick<ConfigKey, 'name'>;

/** The entry of each key. A name that an entry cannot have, or that is `taken`, becomes its description. */
export function keyEntries(keys: readonly AuthKey[], taken: ReadonlySet<string>): KeyEntry[] {
  const nameOf = namesBeside(taken);
  return keys.map((key) => {
    const name = nameOf(key.name);
    const description = key.description ?? (name === key.name ? undefined : key.name);
    const { labels, allowedModels, userPath, role, expiresAtMs } = key;
    return {
      name,
      hash: `sha256:${key.digest}`,
      ...(description === undefined || description === '' ? {} : { description }),
      ...(userPath === undefined ? {} : { user_path: userPath }),
      ...(key.anyUserPath ? { any_user_path: true } : {}),
      ...(labels.length === 0 ? {} : { labels: [...labels] }),
      ...(allowedModels.length === 0 ? {} : { allowed_models: [...allowedModels] }),
      ...(role === undefined ? {} : { dashboard_access: true, ...(role === 'admin' ? {} : { role }) }),
      ...(expiresAtMs === Number.POSITIVE_INFINITY ? {} : { expires_at: timestamp(expiresAtMs) }),
    };
  });
}

/** The most characters of a name, with room for a number behind it. */
const longestName = 56;

/** Gives each name in the letters that an entry may have, with a number behind it where it is taken. */
function namesBeside(taken: ReadonlySet<string>): (wanted: string) => string {
  const names = new Set(taken);
  const next = new Map<string, number>();
  return (wanted) => {
    const plain =
      wanted
        .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
        .replaceAll(/^[^A-Za-z0-9]+|-+$/g, '')
        .slice(0, longestName) || 'key';
    for (let number = next.get(plain) ?? 1; ; number += 1) {
      const name = number === 1 ? plain : `${plain}-${number}`;
      if (names.has(name)) continue;
      names.add(name);
      next.set(plain, number + 1);
      return name;
    }
  };
}
