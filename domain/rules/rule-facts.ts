// The fields of a log line about a change of a rule: the rule in force before, and after.
import { authorFacts } from './authorship.ts';
import type { ManualRule } from './manual-rule.ts';
import { mergeRules } from './merge.ts';
import type { RulePrerequisites } from './obstacle.ts';
import { resetEpochs } from './reset-epochs.ts';
import type { Rule } from './rule.ts';

/** The declared and the manual rule of one key; undefined where there is none. */
export interface RulePair {
  readonly declared: Rule | undefined;
  /** Not expired. */
  readonly manual: ManualRule | undefined;
}

/** The members of the rule in force, named as in the listing; null without a rule. */
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
    ...(rule.onStoreLoss === undefined ? {} : { on_store_loss: rule.onStoreLoss }),
    ...(rule.maxRequests === undefined ? {} : { max_requests: rule.maxRequests }),
    ...(rule.maxTokens === undefined ? {} : { max_tokens: rule.maxTokens }),
    ...(manual === undefined ? {} : authorFacts(manual)),
  };
}
