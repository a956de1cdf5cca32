// An alias that an operator set through the admin API, and its document in the state store.
import type { Alias } from '../../schemas/types.ts';
import { entries } from '../../schemas/validation/generated/config.js';
import { entryDocuments, type ManualEntry } from '../documents/manual-entry.ts';
import { foldCase } from '../selector.ts';
import { normaliseUserPath } from '../user-path.ts';
import { sourceProblem } from './mistakes.ts';

/** The kind of its documents; the id is the alias key. */
export const manualAliasKind = 'virtual_model';

export type ManualAlias = ManualEntry<Alias>;

/** The identity of an alias: two sources that differ only in letter case are one. */
export function aliasKey(source: string): string {
  return foldCase(source);
}

export const { read: readManualAlias, write: manualAliasBody } = entryDocuments('alias', isStoredAlias);

function isStoredAlias(value: unknown, id: string): value is Alias {
  if (!entries.alias(value) || !Array.isArray(value.targets)) return false;
  if (aliasKey(value.source) !== id || sourceProblem(value.source) !== undefined) return false;
  return value.user_paths?.every((path) => normaliseUserPath(path).path === path) ?? true;
}
