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
