// The log of the control plane on rules that operators set and no proxy enforces.
import { manualRules } from '../../../schemas/documents/kinds.ts';
import { readKind, type StoredDocument } from '../../../schemas/documents/managed-kind.ts';
import { mergeRules } from '../../../schemas/rules/merge.ts';
import type { RulePrerequisites } from '../../../schemas/rules/obstacle.ts';
import { resetEpochs } from '../../../schemas/rules/reset-epochs.ts';
import type { Rule } from '../../../schemas/rules/rule.ts';
import { unenforcedProblems } from '../../../schemas/rules/unenforced.ts';

/** Looks at the rules as of `nowMs` (Unix milliseconds), and writes a line for each problem when these are others than before. */
export function createRuleWarnings(
  log: Record<'warn' | 'error', (text: string) => void>,
): (
  documents: readonly StoredDocument[],
  config: readonly Rule[],
  prerequisites: RulePrerequisites,
  nowMs: number,
) => void {
  let said = '';
  return (documents, config, prerequisites, nowMs) => {
    const { values: manual } = readKind(manualRules, documents);
    const merged = mergeRules({ config, manual, epochs: resetEpochs([]), nowMs, prerequisites });
    const problems = unenforcedProblems(merged, prerequisites);
    const now = problems.map(({ text }) => text).join();
    if (now !== said) for (const { level, text } of problems) log[level](text);
    said = now;
  };
}
