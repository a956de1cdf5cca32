// What the log says of a write to a rule: the rule in force before and after it. Pure.

import { manualRules } from '../../../domain/documents/kinds.ts';
import { authorFacts } from '../../../domain/rules/authorship.ts';
import { readManualRule } from '../../../domain/rules/manual-rule.ts';
import type { RulePrerequisites } from '../../../domain/rules/obstacle.ts';
import { ruleFacts } from '../../../domain/rules/rule-facts.ts';
import type { Change } from '../../../store/state/state-store.ts';
import type { KnownRules } from './changes.ts';

/**
 * Members for the line of a write to the rule `key`: `before` and `after` (null: no rule), and of the rule that is written its reason, end
 * and author. None for a write that changes counters alone.
 */
export function writeFacts(
  known: KnownRules,
  changes: readonly Change[],
  key: string,
  prerequisites: RulePrerequisites,
): object {
  const change = changes.find(({ kind, id }) => kind === manualRules.kind && id === key);
  if (change === undefined) return {};
  const declared = known.config.get(key);
  const manual = known.manual.get(key);
  const next = change.body === undefined ? undefined : readManualRule(key, change.body);
  const before = ruleFacts({ declared, manual }, prerequisites);
  const after = ruleFacts({ declared, manual: next }, prerequisites);
  return { before, after, ...(next === undefined ? {} : authorFacts(next)) };
}
