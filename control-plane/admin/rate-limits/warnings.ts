// Logs the rules that operators have set but no proxy enforces.
import type { MergedRule } from '../../../domain/rules/merge.ts';
import type { RulePrerequisites } from '../../../domain/rules/obstacle.ts';
import { unenforcedProblems } from '../../../domain/rules/unenforced.ts';

/** Checks the merged rules. Logs a line for each problem when the problems differ from the last ones. */
export function createRuleWarnings(
  log: Record<'warn' | 'error', (text: string) => void>,
): (rules: readonly MergedRule[], prerequisites: RulePrerequisites) => void {
  let said = '';
  return (rules, prerequisites) => {
    const problems = unenforcedProblems(rules, prerequisites);
    const now = problems.map(({ text }) => text).join();
    if (now !== said) for (const { level, text } of problems) log[level](text);
    said = now;
  };
}
