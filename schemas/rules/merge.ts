// The rules in force: what the configuration declares and what operators set, as one list. Both planes see the same.
import { expiryMs, type ManualRule } from './manual-rule.ts';
import type { ResetEpochs } from './reset-epochs.ts';
import { compareRules, type Rule } from './rule.ts';
import { uniqueRuleIds } from './rule-id.ts';

export interface RuleSources {
  /** As `compileRules` gives them. */
  readonly config: readonly Rule[];
  /** Every one that lies in the store, expired ones too. */
  readonly manual: readonly ManualRule[];
  readonly epochs: ResetEpochs;
  readonly nowMs: number;
  /** Whether per-child templates are paid for. */
  readonly hasTemplates: boolean;
}

export interface MergedRule extends Rule {
  /** The configuration declares the same rule, and this one stands in its place. */
  readonly overridesConfig: boolean;
  /** False for a template without the entitlement: it is listed, and neither enforced nor shared by the children. */
  readonly enforced: boolean;
  /** Of a rule with source `manual`. */
  readonly manual?: ManualRule;
}

/**
 * Sorted, with ids that are unique among them. A manual rule wins over the one of the configuration with the same key; an
 * expired one does not exist. While its document still lies there, the epoch is what it will be once the document was removed,
 * so the counters start anew once and not twice.
 */
export function mergeRules({ config, manual, epochs, nowMs, hasTemplates }: RuleSources): MergedRule[] {
  const expired = new Set<string>();
  const standing = new Map<string, ManualRule>();
  for (const rule of manual) {
    if (expiryMs(rule) <= nowMs) expired.add(rule.key);
    else standing.set(rule.key, rule);
  }
  const declared = new Set(config.map(({ key }) => key));
  const rules = [
    ...config.filter(({ key }) => !standing.has(key)).map((rule) => merged(rule, false)),
    ...[...standing.values()].map((rule) => merged(ruleOf(rule), declared.has(rule.key), rule)),
  ];
  // Rules of the configuration alone have their ids and their order already.
  if (standing.size === 0) return rules.map((rule) => Object.freeze(rule));
  const ids = uniqueRuleIds(rules.map(({ key }) => key));
  return rules.map((rule, index) => Object.freeze({ ...rule, id: ids[index] ?? '' })).sort(compareRules);

  function merged(rule: Rule, overridesConfig: boolean, source?: ManualRule): MergedRule {
    return {
      ...rule,
      epoch: epochs.of(rule.key) + (expired.has(rule.key) ? 1 : 0),
      overridesConfig,
      enforced: hasTemplates || !rule.perChild,
      ...(source === undefined ? {} : { manual: source }),
    };
  }
}

/** The next Unix millisecond at which a manual rule expires, so that the rules must be merged again; undefined: none will. */
export function nextExpiryMs(manual: readonly ManualRule[], nowMs: number): number | undefined {
  let next = Number.POSITIVE_INFINITY;
  for (const rule of manual) {
    const expiry = expiryMs(rule);
    if (expiry > nowMs && expiry < next) next = expiry;
  }
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}

function ruleOf(manual: ManualRule): Rule {
  const { key, scope, subject, matchSubject, perChild, periodSeconds, maxRequests, maxTokens, mode } = manual;
  return {
    key,
    id: '',
    scope,
    subject,
    matchSubject,
    perChild,
    periodSeconds,
    ...(maxRequests === undefined ? {} : { maxRequests }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    mode,
    source: 'manual',
    epoch: 0,
  };
}
