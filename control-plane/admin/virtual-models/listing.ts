// The listing of virtual models: those of the configuration and those of operators. Pure.
import { aliasKey } from '../../../domain/aliases/manual-alias.ts';
import type { MergedAlias } from '../../../domain/aliases/merge-aliases.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import type { Alias } from '../../../schemas/types.ts';

export interface ListingParts {
  readonly aliases: readonly MergedAlias[];
  /** Where the configuration declares an alias, by source: `<file>:<line>`. */
  readonly places: ReadonlyMap<string, string>;
  readonly nowMs: number;
  /** The store does not answer. */
  readonly isStale: boolean;
}

/** The body of `schemas/admin/virtual-models.schema.json`: times are RFC 3339 in UTC; absent members are left out. */
export function listing(parts: ListingParts): object {
  return {
    virtual_models: aliasRows(parts),
    server_time: timestamp(parts.nowMs),
    ...(parts.isStale ? { stale: true } : {}),
  };
}

/** One row for each alias. */
export function aliasRows({ aliases, places }: Pick<ListingParts, 'aliases' | 'places'>): object[] {
  const declared = new Map([...places].map(([source, place]) => [aliasKey(source), place]));
  return aliases.map(({ key, alias, manual, overridesConfig, enforced, problem }) => {
    const place = declared.get(key);
    return {
      ...aliasMembers(alias),
      managed_by: manual === undefined ? 'config' : 'manual',
      overrides_config: overridesConfig,
      ...(place === undefined ? {} : { declared_at: place }),
      enforced,
      ...(problem === undefined ? {} : { unenforced_reason: problem }),
      ...(manual === undefined
        ? {}
        : { created_at: manual.createdAt, updated_at: manual.updatedAt, updated_by: manual.updatedBy }),
    };
  });
}

/** The alias itself, as it may be written; `target` beside `targets` when there is one. */
export function aliasMembers(alias: Alias): object {
  const { source, targets, ...settings } = alias;
  const [first, ...others] = targets;
  const target = first === undefined || others.length > 0 ? {} : { target: first.model };
  return { source, ...target, targets: targets.map(({ model, weight }) => ({ model, weight })), ...settings };
}
