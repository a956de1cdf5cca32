// What a log line says of a rule: in force before a change, and after it.
import { authorFacts } from './authorship.ts';
import type { ManualRule } from './manual-rule.ts';
import { mergeRules } from './merge.ts';
import type { RulePrerequisites } from './obstacle.ts';
import { resetEpochs } from './reset-epochs.ts';
import type { Rule } from './rule.ts';

/** The declared and the manual rule of one rule key, as far as there are such. */
export interface RulePair {
  readonly declared: Rule | undefined;
  /** Not expired. */
  readonly manual: ManualRule | undefined;
}

/** The rule that follows from the two, in the words of the listing; null without both. */
export function ruleFacts({ declared, manual }: RulePair, prerequisites: RulePrerequisites): object | null {
  const merged = mergeRules({
    config: declared === undefined ? [] : [declared],
    manual: manual === undefined ? [] : [manual],
    epochs: resetEpochs([]),
    // The caller has left expired rules out.
    nowMs: Number.NEGATIVE_INFINITY,
    prerequisites,
  });
  const rule = merged.find(({ source }) => source === 'manual') ?? merged[0];
  if (rule === undefined) return null;
  return {
    source: rule.source,
    ...(rule.name === undefined ? {} : { name: rule.name }),
    per_child: rule.perChild,
    mode: rule.mode,
    ...(rule.maxRequests === undefined ? {} : { max_requests: rule.maxRequests }),
    ...(rule.maxTokens === undefined ? {} : { max_tokens: rule.maxTokens }),
    ...(manual === undefined ? {} : authorFacts(manual)),
  };
}
