// The rules of operators that have an end, kept from state to state: they are looked through every second.
import { manualRules } from '../../../domain/documents/kinds.ts';
import type { ManualRule } from '../../../domain/rules/manual-rule.ts';
import type { Document } from '../../../store/state/state-store.ts';
import { changesOf } from '../../managed/stored-kind.ts';

/** Gives those of a state, also those that have ended and whose documents are still there. */
export function createEndingRules(): (documents: readonly Document[]) => readonly ManualRule[] {
  const ending = new Map<string, ManualRule>();
  let before: readonly Document[] = [];
  return (documents) => {
    const { gone, come } = changesOf(manualRules, before, documents);
    before = documents;
    for (const { key } of gone) ending.delete(key);
    for (const rule of come) if (rule.expiresAt !== undefined) ending.set(rule.key, rule);
    return [...ending.values()];
  };
}
