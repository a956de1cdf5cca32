// Logs the rules that operators have set but no proxy enforces.
import { manualRules } from '../../../domain/documents/kinds.ts';
import { readKind, type StoredDocument } from '../../../domain/documents/managed-kind.ts';
import { mergeRules } from '../../../domain/rules/merge.ts';
import type { RulePrerequisites } from '../../../domain/rules/obstacle.ts';
import { resetEpochs } from '../../../domain/rules/reset-epochs.ts';
import type { Rule } from '../../../domain/rules/rule.ts';
import { unenforcedProblems } from '../../../domain/rules/unenforced.ts';

/** Checks the rules as of `nowMs` (Unix milliseconds). Logs a line for each problem when the problems differ from the last ones. */
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
