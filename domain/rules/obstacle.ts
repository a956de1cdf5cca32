// Decides whether a rule can be enforced, once for both planes. Pure.
import { isQualified } from '../selector.ts';
import { type KnownModels, mayBeDiscovered } from './known-models.ts';
import type { Rule } from './rule.ts';

/** The conditions for enforcing rules. */
export interface RulePrerequisites {
  /** Rate limits are switched on. */
  readonly enabled: boolean;
  /** The entitlement for per-child templates is present. */
  readonly hasTemplates: boolean;
  /** Tokens are counted. */
  readonly usageEnabled: boolean;
  readonly known: KnownModels;
}

/**
 * `not_entitled`: a template without its entitlement. `no_cap`: an override without caps whose rule is no longer in the configuration.
 * `no_usage`: the rule caps only tokens, which are not counted. `unknown_subject`: no provider or model has this name.
 */
export type Obstacle = 'not_entitled' | 'no_cap' | 'no_usage' | 'unknown_subject';

/** Why a rule cannot be enforced while rate limits are switched on; undefined when it can. */
export function obstacleOf(rule: Rule, { hasTemplates, usageEnabled, known }: RulePrerequisites): Obstacle | undefined {
  if (rule.perChild && !hasTemplates) return 'not_entitled';
  if (rule.maxRequests === undefined && rule.maxTokens === undefined) return 'no_cap';
  if (!isKnown(rule, known)) return 'unknown_subject';
  return rule.maxRequests === undefined && !usageEnabled ? 'no_usage' : undefined;
}

/** Whether the subject exists, or may exist. A provider that is left out counts as existing, because another warning reports it. */
function isKnown({ scope, matchSubject }: Rule, known: KnownModels): boolean {
  const { providers, leftOut, models } = known;
  if (scope === 'user_path') return true;
  if (scope === 'provider') return providers.has(matchSubject);
  return models.has(matchSubject) || isQualified(matchSubject, leftOut) || mayBeDiscovered(matchSubject, known);
}
