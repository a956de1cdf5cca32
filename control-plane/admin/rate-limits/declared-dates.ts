// Keeps the dates of rules in the configuration on disk, because YAML has none. A restart or an edit of another rule does not change them.
import type { Rule } from '../../../schemas/rules/rule.ts';
import { keepCopy, recallCopy } from '../../../store/checksummed-file.ts';

/** The dates of one rule of the configuration, in Unix milliseconds. */
export interface Declared {
  readonly createdMs: number;
  readonly updatedMs: number;
  /** Caps, mode and `per_child` as JSON, to notice a change. */
  readonly says: string;
}

/** By rule key. */
export type DeclaredDates = ReadonlyMap<string, Declared>;

/** The dates of `rules` at `nowMs`. A rule of `before` keeps its first date; a changed rule was updated now. */
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
  /** Takes the rules of a new configuration. The copy is written later. */
  update(rules: readonly Rule[], nowMs: number): void;
}

/** Begins with the copy in `path`. A copy that is damaged or cannot be written is reported as a sentence; only dates are lost. */
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
      // One after the other, so that the last write holds the last rules.
      keeping = keeping.then(keep);
    },
  };
}
