// Merges the rules of the configuration with manual rules into one list; both planes use it.
import { isQualified } from '../selector.ts';
import { expiryMs } from './authorship.ts';
import type { ManualRule } from './manual-rule.ts';
import { type Obstacle, obstacleOf, type RulePrerequisites } from './obstacle.ts';
import { isNoLooser, type OnStoreLoss } from './on-store-loss.ts';
import type { ResetEpochs } from './reset-epochs.ts';
import { compareRules, type Rule } from './rule.ts';
import { uniqueRuleIds } from './rule-id.ts';

export interface RuleSources {
  /** The result of `compileRules`. */
  readonly config: readonly Rule[];
  /** All manual rules in the store, including expired ones. */
  readonly manual: readonly ManualRule[];
  readonly epochs: ResetEpochs;
  readonly nowMs: number;
  readonly prerequisites: RulePrerequisites;
}

export interface MergedRule extends Rule {
  /** The configuration declares the same rule, and this one replaces it. */
  readonly overridesConfig: boolean;
  /** Why it cannot be enforced, also while rate limits are switched off. */
  readonly obstacle: Obstacle | undefined;
  /** It has no obstacle, and rate limits are switched on. */
  readonly enforced: boolean;
  /** The proxies have counters for it. Keys of counted rules are unique. */
  readonly counted: boolean;
  /** Present for a rule with source `manual`. */
  readonly manual?: ManualRule;
}

/**
 * Sorted, with ids that are unique among keys. A manual rule replaces the rule of the configuration with the same key, and takes the caps
 * that it does not name, a missing name and a missing `onStoreLoss` from it. When the manual rule cannot be enforced and the other can, the list has both. An expired rule is left
 * out; while its document is still stored, the epoch is already the one after its removal, so that counters start again only once.
 */
export function mergeRules({ config, manual, epochs, nowMs, prerequisites }: RuleSources): MergedRule[] {
  const expired = new Set<string>();
  const standing = new Map<string, ManualRule>();
  for (const rule of manual) {
    if (expiryMs(rule) <= nowMs) expired.add(rule.key);
    else standing.set(rule.key, rule);
  }
  const rules: MergedRule[] = [];
  for (const declared of config) {
    const set = standing.get(declared.key);
    const override = set === undefined ? undefined : merged(overrideOf(set, declared), set);
    const own = merged(declared);
    const isHidden = override !== undefined && (override.obstacle === undefined || own.obstacle !== undefined);
    if (!isHidden) rules.push(own);
    if (override !== undefined)
      rules.push({ ...override, overridesConfig: isHidden, counted: isHidden && override.counted });
    standing.delete(declared.key);
  }
  for (const set of standing.values()) rules.push(merged(overrideOf(set, undefined), set));
  // Without manual rules, ids and order are already right.
  if (!rules.some(({ source }) => source === 'manual')) return rules.map((rule) => Object.freeze(rule));
  const ids = uniqueRuleIds(rules.map(({ key }) => key));
  return rules.map((rule, index) => Object.freeze({ ...rule, id: ids[index] ?? '' })).sort(compareRules);

  function merged(rule: Rule, source?: ManualRule): MergedRule {
    const { scope, matchSubject } = rule;
    const isBareId =
      scope === 'model' && matchSubject.includes('/') && !isQualified(matchSubject, prerequisites.known.providers);
    const obstacle = obstacleOf(rule, prerequisites);
    return {
      ...rule,
      ...(isBareId ? { bareId: true } : {}),
      epoch: epochs.of(rule.key) + (expired.has(rule.key) ? 1 : 0),
      overridesConfig: false,
      obstacle,
      enforced: obstacle === undefined && prerequisites.enabled,
      counted: obstacle !== 'not_entitled' && obstacle !== 'no_cap',
      ...(source === undefined ? {} : { manual: source }),
    };
  }
}

type Caps = Pick<Rule, 'maxRequests' | 'maxTokens'>;

/** The caps of a manual rule: those it names, otherwise those of the declared rule, if any. */
export function effectiveCaps(named: Pick<ManualRule, 'maxRequests' | 'maxTokens'>, declared: Caps | undefined): Caps {
  const maxRequests = named.maxRequests === undefined ? declared?.maxRequests : named.maxRequests;
  const maxTokens = named.maxTokens === undefined ? declared?.maxTokens : named.maxTokens;
  return {
    ...(typeof maxRequests === 'number' ? { maxRequests } : {}),
    ...(typeof maxTokens === 'number' ? { maxTokens } : {}),
  };
}

function stricterCaps(caps: Caps, bound: Caps | undefined): Caps {
  if (bound === undefined) return caps;
  return {
    ...stricter('maxRequests', caps.maxRequests, bound.maxRequests),
    ...stricter('maxTokens', caps.maxTokens, bound.maxTokens),
  };
}

function stricter(name: keyof Caps, cap: number | undefined, other: number | undefined): Caps {
  const least = Math.min(cap ?? Number.POSITIVE_INFINITY, other ?? Number.POSITIVE_INFINITY);
  return least === Number.POSITIVE_INFINITY ? {} : { [name]: least };
}

/** `bound`: the rule of the configuration, where the manual one may only tighten it. */
function lossOf(manual: ManualRule, declared: Rule | undefined, bound: Rule | undefined): OnStoreLoss | undefined {
  const { onStoreLoss: wanted } = manual;
  const isWanted = wanted !== undefined && (bound === undefined || isNoLooser(wanted, bound.onStoreLoss));
  return isWanted ? wanted : declared?.onStoreLoss;
}

/** The next Unix millisecond at which a manual rule expires and the rules must be merged again; undefined: none expires. */
export function nextExpiryMs(manual: readonly ManualRule[], nowMs: number): number | undefined {
  let next = Number.POSITIVE_INFINITY;
  for (const rule of manual) {
    const expiry = expiryMs(rule);
    if (expiry > nowMs && expiry < next) next = expiry;
  }
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}

/**
 * `per_child` and mode are those of the manual rule (unless it may only tighten). So a cap that it takes from the configuration is counted
 * as the manual rule says: for a template, per child.
 */
function overrideOf(manual: ManualRule, declared: Rule | undefined): Rule {
  const { key, scope, subject, matchSubject, periodSeconds } = manual;
  const bound = manual.tightens === true ? declared : undefined;
  const perChild = bound?.perChild ?? manual.perChild;
  const mode = bound?.mode === 'enforce' ? 'enforce' : manual.mode;
  const caps = stricterCaps(effectiveCaps(manual, declared), bound);
  const name = manual.name ?? declared?.name;
  const onStoreLoss = lossOf(manual, declared, bound);
  const isBlock = caps.maxRequests === 0 || caps.maxTokens === 0;
  return {
    key,
    id: '',
    ...(name === undefined ? {} : { name }),
    scope,
    subject,
    matchSubject,
    perChild,
    periodSeconds,
    ...caps,
    ...(isBlock ? { blockedUntilMs: expiryMs(manual) } : {}),
    mode,
    ...(onStoreLoss === undefined ? {} : { onStoreLoss }),
    source: 'manual',
    epoch: 0,
  };
}
