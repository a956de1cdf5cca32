// The rules in force: what the configuration declares and what operators set, as one list. Both planes see the same.
import { isQualified } from '../selector.ts';
import { expiryMs, type ManualRule } from './manual-rule.ts';
import { type Obstacle, obstacleOf, type RulePrerequisites } from './obstacle.ts';
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
  readonly prerequisites: RulePrerequisites;
}

export interface MergedRule extends Rule {
  /** The configuration declares the same rule, and this one stands in its place. */
  readonly overridesConfig: boolean;
  /** What stands in its way, also while rate limits are switched off. */
  readonly obstacle: Obstacle | undefined;
  /** Nothing stands in its way, and rate limits are switched on. */
  readonly enforced: boolean;
  /** The proxies hold counters for it. No two such rules have one key. */
  readonly counted: boolean;
  /** Of a rule with source `manual`. */
  readonly manual?: ManualRule;
}

/**
 * Sorted, with ids that are unique among keys. A manual rule wins over the one of the configuration with the same key, whose caps it
 * has where it names none; one that cannot be enforced does not hide a rule of the configuration that can: then both are there. An
 * expired one does not exist. While its document still lies there, the epoch is what it will be once the document was removed, so the
 * counters start anew once and not twice.
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
  // Rules of the configuration alone have their ids and their order already.
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

/** The caps that a manual rule has over one of the configuration, or over none: those it names, else that rule's. */
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

/** The next Unix millisecond at which a manual rule expires, so that the rules must be merged again; undefined: none will. */
export function nextExpiryMs(manual: readonly ManualRule[], nowMs: number): number | undefined {
  let next = Number.POSITIVE_INFINITY;
  for (const rule of manual) {
    const expiry = expiryMs(rule);
    if (expiry > nowMs && expiry < next) next = expiry;
  }
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}

/**
 * `per_child` and mode are the override's own (unless it may only tighten), so a cap that it does not name counts in the way that it says: of a template for
 * each child.
 */
function overrideOf(manual: ManualRule, declared: Rule | undefined): Rule {
  const { key, scope, subject, matchSubject, periodSeconds } = manual;
  const bound = manual.tightens === true ? declared : undefined;
  const perChild = bound?.perChild ?? manual.perChild;
  const mode = bound?.mode === 'enforce' ? 'enforce' : manual.mode;
  const caps = stricterCaps(effectiveCaps(manual, declared), bound);
  const isBlock = caps.maxRequests === 0 || caps.maxTokens === 0;
  return {
    key,
    id: '',
    scope,
    subject,
    matchSubject,
    perChild,
    periodSeconds,
    ...caps,
    ...(isBlock ? { blockedUntilMs: expiryMs(manual) } : {}),
    mode,
    source: 'manual',
    epoch: 0,
  };
}
