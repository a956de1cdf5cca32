// The rules of a state merged with those of the configuration. They are made once for all who ask until something changes.
import { manualRules, resets } from '../../../domain/documents/kinds.ts';
import { readKind, type StoredDocument } from '../../../domain/documents/managed-kind.ts';
import { type MergedRule, mergeRules, nextExpiryMs } from '../../../domain/rules/merge.ts';
import type { RulePrerequisites } from '../../../domain/rules/obstacle.ts';
import { resetEpochs } from '../../../domain/rules/reset-epochs.ts';
import type { Rule } from '../../../domain/rules/rule.ts';

interface Sources {
  readonly documents: readonly StoredDocument[];
  readonly config: readonly Rule[];
  readonly prerequisites: RulePrerequisites;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

interface Made extends Omit<Sources, 'documents'> {
  readonly rules: readonly MergedRule[];
  /** When a rule expires. Unix milliseconds. */
  readonly untilMs: number;
}

/** By the documents they were made of: a state is replaced, never changed. */
const madeBefore = new WeakMap<object, Made>();

/** Sorted. */
export function mergedRules({ documents, ...sources }: Sources): readonly MergedRule[] {
  const before = madeBefore.get(documents);
  if (before !== undefined && holds(before, sources)) return before.rules;
  const { nowMs } = sources;
  const { values: manual } = readKind(manualRules, documents);
  const epochs = resetEpochs(readKind(resets, documents).values);
  const rules = mergeRules({ ...sources, manual, epochs });
  madeBefore.set(documents, { ...sources, rules, untilMs: nextExpiryMs(manual, nowMs) ?? Number.POSITIVE_INFINITY });
  return rules;
}

function holds(made: Made, { config, prerequisites, nowMs }: Omit<Sources, 'documents'>): boolean {
  const [then, now] = [made.prerequisites, prerequisites];
  return (
    made.config === config &&
    // A clock that was set back brings rules back that had expired.
    nowMs >= made.nowMs &&
    nowMs < made.untilMs &&
    then.known === now.known &&
    then.enabled === now.enabled &&
    then.usageEnabled === now.usageEnabled &&
    then.hasTemplates === now.hasTemplates
  );
}
