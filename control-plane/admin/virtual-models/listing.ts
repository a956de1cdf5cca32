// The listing of virtual models: those of the configuration and those of operators. Pure.
import type { Alias } from '../../../schemas/types.ts';
import { dates, provenance } from '../../managed/listing.ts';
import { type KnownAliases, merged } from './known.ts';

/** The rows of `schemas/admin/virtual-models.schema.json`; absent members are left out. */
export function aliasRows(known: KnownAliases): object[] {
  return merged(known).map((row) => {
    const { key, alias, manual, enforced, problem } = row;
    return {
      ...aliasMembers(alias),
      ...provenance(key, row, known.places, 'managed_by'),
      enforced,
      ...(problem === undefined ? {} : { unenforced_reason: problem }),
      ...dates(manual),
    };
  });
}

/** The members of the log for an alias: the one in force, and who manages it. Null: none is in force. */
export function aliasFacts(known: KnownAliases, key: string): object | null {
  const row = merged(known).find((each) => each.key === key && each.enforced);
  if (row === undefined) return null;
  return { managed_by: row.manual === undefined ? 'config' : 'manual', ...aliasMembers(row.alias) };
}

/** The alias itself, as it may be written; `target` beside `targets` when there is one. */
function aliasMembers(alias: Alias): object {
  const { source, targets, ...settings } = alias;
  const [first, ...others] = targets;
  const target = first === undefined || others.length > 0 ? {} : { target: first.model };
  return { source, ...target, targets, ...settings };
}
