// Since when the configuration declares each of its rules. YAML has no dates, so the control plane remembers them on disk: a restart and an
// edit of another rule do not change them.
import type { Rule } from '../../../schemas/rules/rule.ts';
import { keepCopy, recallCopy } from '../../../store/checksummed-file.ts';

/** One rule of the configuration: since when it is there, and since when it says what it says; Unix milliseconds. */
export interface Declared {
  readonly createdMs: number;
  readonly updatedMs: number;
  /** What it says, for comparing. */
  readonly says: string;
}

/** By rule key. */
export type DeclaredDates = ReadonlyMap<string, Declared>;

/** The dates of `rules` at `nowMs`: those of rules that were there before stay, and a rule that says something else was updated now. */
export function dateRules(before: DeclaredDates, rules: readonly Rule[], nowMs: number): DeclaredDates {
  return new Map(
    rules.map((rule) => {
      const says = JSON.stringify([rule.maxRequests ?? null, rule.maxTokens ?? null, rule.mode, rule.perChild]);
      const known = before.get(rule.key);
      if (known?.says === says) return [rule.key, known];
      return [rule.key, { createdMs: known?.createdMs ?? nowMs, updatedMs: nowMs, says }];
    }),
  );
}

export interface KeptDates {
  current(): DeclaredDates;
  /** Takes these rules for the ones that are declared now; the copy follows in its own time. */
  update(rules: readonly Rule[], nowMs: number): void;
}

/** Goes on with the copy in `path`. One that is damaged or cannot be written is reported as a sentence, and costs only the dates. */
export async function keepDeclaredDates(path: string, report: (problem: string) => void): Promise<KeptDates> {
  const { content, distrust } = await recallCopy(path);
  if (distrust !== undefined) report(`the dates of declared rate limits in ${path} are ignored: ${distrust}`);
  let current: DeclaredDates = new Map(content === undefined ? [] : (JSON.parse(content) as [string, Declared][]));
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
