// Keeps the dates of rules and budgets in the configuration on disk, because YAML has none. A restart or an edit of another rule does not change them.
import type { Rule } from '../../domain/rules/rule.ts';
import { keepCopy, recallCopy } from '../../store/checksummed-file.ts';

/** The dates of one entry of the configuration, in Unix milliseconds. */
export interface Declared {
  readonly createdMs: number;
  readonly updatedMs: number;
  /** Caps, mode, `per_child` and what is said of a lost store as JSON, to notice a change. */
  readonly says: string;
}

/** An entry, and what it says as JSON. */
export interface DatedEntry {
  readonly key: string;
  readonly says: string;
}

/** By the key of the entry. */
export type DeclaredDates = ReadonlyMap<string, Declared>;

/** The dates of `entries` at `nowMs`. An entry of `before` keeps its first date; a changed one was updated now. */
export function dateEntries(before: DeclaredDates, entries: readonly DatedEntry[], nowMs: number): DeclaredDates {
  return new Map(
    entries.map(({ key, says }) => {
      const known = before.get(key);
      if (known?.says === says) return [key, known];
      return [key, { createdMs: known?.createdMs ?? nowMs, updatedMs: nowMs, says }];
    }),
  );
}

/** The dates of rules at `nowMs` (Unix milliseconds); see `dateEntries`. */
export function dateRules(before: DeclaredDates, rules: readonly Rule[], nowMs: number): DeclaredDates {
  return dateEntries(before, rules.map(datedRule), nowMs);
}

export function datedRule(rule: Rule): DatedEntry {
  const { key, maxRequests = null, maxTokens = null, mode, perChild, onStoreLoss } = rule;
  const said = [maxRequests, maxTokens, mode, perChild, ...(onStoreLoss === undefined ? [] : [onStoreLoss])];
  return { key, says: JSON.stringify(said) };
}

export interface KeptDates {
  current(): DeclaredDates;
  /** Takes the entries of a new configuration. The copy is written later. */
  update(entries: readonly DatedEntry[], nowMs: number): void;
}

/** Begins with the copy in `path`. A copy that is damaged or cannot be written is reported as a sentence; only dates are lost. */
export async function keepDeclaredDates(
  path: string,
  report: (problem: string) => void,
  what = 'rate limits',
): Promise<KeptDates> {
  const { content, distrust } = await recallCopy(path);
  if (distrust !== undefined) report(`the dates of declared ${what} in ${path} are ignored: ${distrust}`);
  let current: DeclaredDates = new Map(content === undefined ? [] : (JSON.parse(content) as [string, Declared][]));
  let kept = content;
  let keeping = Promise.resolve();

  async function keep(): Promise<void> {
    const wanted = JSON.stringify([...current]);
    if (wanted === kept) return;
    const problem = await keepCopy(path, wanted);
    if (problem === undefined) kept = wanted;
    else report(`the dates of declared ${what} could not be written to ${path} (${problem})`);
  }
  return {
    current: () => current,
    update(entries, nowMs) {
      current = dateEntries(current, entries, nowMs);
      // One after the other, so that the last write holds the last rules.
      keeping = keeping.then(keep);
    },
  };
}
