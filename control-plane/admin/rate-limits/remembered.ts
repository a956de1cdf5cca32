// The dates of the configuration's rules on disk, so that a restart and an edit of something else do not change them.
import type { Rule } from '../../../schemas/rules/rule.ts';
import { keepCopy, recallCopy } from '../../../store/checksummed-file.ts';
import { type Declared, type DeclaredRules, dateRules } from './declared.ts';

export interface RememberedRules {
  current(): DeclaredRules;
  /** Takes these rules for the ones that are declared now; the copy follows in its own time. */
  update(rules: readonly Rule[], nowMs: number): void;
}

/** Goes on with the copy in `path`. One that is damaged or cannot be written is reported as a sentence, and costs only the dates. */
export async function rememberRules(path: string, report: (problem: string) => void): Promise<RememberedRules> {
  const { content, distrust } = await recallCopy(path);
  if (distrust !== undefined) report(`the dates of declared rate limits in ${path} are ignored: ${distrust}`);
  let current: DeclaredRules = new Map(content === undefined ? [] : (JSON.parse(content) as [string, Declared][]));
  let kept = content;
  let keeping = Promise.resolve();

  async function keep(): Promise<void> {
    const wanted = JSON.stringify([...current]);
    if (wanted === kept) return;
    const problem = await keepCopy(path, wanted);
    if (problem === undefined) kept = wanted;
    else report(`the dates of declared rate limits could not be written to ${path} (${problem})`);
  }
  return {
    current: () => current,
    update(rules, nowMs) {
      current = dateRules(current, rules, nowMs);
      // One after the other: the last one written must be the last one wanted.
      keeping = keeping.then(keep);
    },
  };
}
