// What stands in the way of a rule: decided in one place, so that both planes enforce the same. Pure.
import { isQualified } from '../selector.ts';
import type { KnownModels } from './known-models.ts';
import type { Rule } from './rule.ts';

/** What enforcing a rule takes, besides the rule. */
export interface RulePrerequisites {
  /** Rate limits are switched on. */
  readonly enabled: boolean;
  /** Per-child templates are paid for. */
  readonly hasTemplates: boolean;
  /** Tokens are counted. */
  readonly usageEnabled: boolean;
  readonly known: KnownModels;
}

/**
 * `not_entitled`: a template that is not paid for. `no_cap`: an override that has lost the rule it changed. `no_usage`: it caps tokens
 * alone, which are not counted. `unknown_subject`: no provider or model of that name.
 */
export type Obstacle = 'not_entitled' | 'no_cap' | 'no_usage' | 'unknown_subject';

/** What stands in the way of a rule while rate limits are switched on; undefined when nothing does. */
export function obstacleOf(rule: Rule, { hasTemplates, usageEnabled, known }: RulePrerequisites): Obstacle | undefined {
  if (rule.perChild && !hasTemplates) return 'not_entitled';
  if (rule.maxRequests === undefined && rule.maxTokens === undefined) return 'no_cap';
  if (!isKnown(rule, known)) return 'unknown_subject';
  return rule.maxRequests === undefined && !usageEnabled ? 'no_usage' : undefined;
}

/** A bare id `a/b` does not name the model `b` of the provider `a`: there is none. That a provider is left out is told elsewhere. */
function isKnown({ scope, matchSubject }: Rule, { providers, leftOut, models }: KnownModels): boolean {
  if (scope === 'user_path') return true;
  if (scope === 'provider') return providers.has(matchSubject);
  return models.has(matchSubject) || isQualified(matchSubject, leftOut);
}
