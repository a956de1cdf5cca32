// The YAML that declares keys of clients: their rights and the hashes of their secrets. Pure.
import { Document, isMap, isSeq } from 'yaml';
import type { ConfigKey } from '../../schemas/types.ts';

/** An entry, without the members that say what holds without them. */
export interface DeclaredKey extends Partial<ConfigKey> {
  readonly name: string;
  readonly hash: string;
  /** Stands above the entry. */
  readonly comment?: string;
}

const standard: Readonly<Record<string, unknown>> = { any_user_path: false, dashboard_access: false, enabled: true };

/** A file of the configuration, or an addition to one that has `keys`. */
export function keysYaml(keys: readonly DeclaredKey[]): string {
  const entries = keys.map((key) =>
    Object.fromEntries(
      Object.entries(key).filter(([member, value]) => {
        const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0);
        return !isEmpty && member !== 'comment' && standard[member] !== value;
      }),
    ),
  );
  const document = new Document({ keys: entries });
  const list = document.get('keys');
  if (isSeq(list))
    for (const [index, { comment }] of keys.entries()) {
      const node = list.items[index];
      if (comment !== undefined && isMap(node)) node.commentBefore = ` ${comment.replaceAll(/\s+/g, ' ')}`;
    }
  return document.toString({ lineWidth: 120 });
}

/** A key as the admin API lists it, with its hash. */
export interface ListedKey extends Omit<DeclaredKey, 'comment'> {
  readonly id: string;
  readonly source: string;
  readonly active: boolean;
  readonly replaced_by?: string;
}

/** The file that declares the issued keys that are let in, and are not declared yet. A name that an entry cannot have becomes its description. */
export function issuedKeysYaml(listed: readonly ListedKey[]): string {
  const wanted = listed.filter(({ source, active, replaced_by: other }) => {
    return source === 'manual' && active && other === undefined;
  });
  if (wanted.length === 0) return '# Operators have issued no key that is not declared yet.\n{}\n';
  const taken = new Set(listed.filter(({ source }) => source === 'config').map(({ name }) => name));
  return keysYaml(
    wanted.map((key) => {
      const name = freeName(key.name, taken);
      taken.add(name);
      const description = key.description ?? (name === key.name ? undefined : key.name);
      return {
        name,
        hash: key.hash,
        ...(description === undefined ? {} : { description }),
        ...pick(key),
        comment: `issued as ${key.id}: ${key.name}`,
      };
    }),
  );
}

function pick({ user_path, any_user_path, labels, allowed_models, dashboard_access, role, ...key }: ListedKey): object {
  return { user_path, any_user_path, labels, allowed_models, dashboard_access, role, expires_at: key.expires_at };
}

function freeName(wanted: string, taken: ReadonlySet<string>): string {
  const plain =
    wanted
      .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
      .replaceAll(/^[^A-Za-z0-9]+|-+$/g, '')
      .slice(0, 56) || 'key';
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? plain : `${plain}-${number}`;
    if (!taken.has(name)) return name;
  }
}
