// Since when the configuration declares each of its rules. YAML does not say, so whoever follows it remembers. Pure.
import type { Rule } from '../../../schemas/rules/rule.ts';

/** One rule of the configuration: since when it is there, and since when it says what it says; Unix milliseconds. */
export interface Declared {
  readonly createdMs: number;
  readonly updatedMs: number;
  /** What it says, for comparing. */
  readonly says: string;
}

/** By rule key. */
export type DeclaredRules = ReadonlyMap<string, Declared>;

/** The dates of `rules` at `nowMs`: those of rules that were there before stay, and a rule that says something else was updated now. */
export function dateRules(before: DeclaredRules, rules: readonly Rule[], nowMs: number): DeclaredRules {
  return new Map(
    rules.map((rule) => {
      const says = JSON.stringify([rule.maxRequests ?? null, rule.maxTokens ?? null, rule.mode, rule.perChild]);
      const known = before.get(rule.key);
      if (known?.says === says) return [rule.key, known];
      return [rule.key, { createdMs: known?.createdMs ?? nowMs, updatedMs: nowMs, says }];
    }),
  );
}
