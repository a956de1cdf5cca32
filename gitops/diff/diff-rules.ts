// The differences between the rate-limit rules of two configurations: which limits are looser, which are tighter. Pure.
import { isDeepStrictEqual } from 'node:util';
import { compareLossModes, type OnStoreLoss } from '../../domain/rules/on-store-loss.ts';
import { type DeclaredRule, declaredRules, ruleKey, ruleTitle } from '../../domain/rules/rule.ts';
import { normaliseSubject } from '../../domain/rules/scope.ts';
import type { RateLimits } from '../../schemas/types.ts';
import { type ConfigChange, describeChange } from './config-change.ts';

/** A rule as a change shows it. */
type ShownRule = Readonly<Record<string, string | number | boolean>>;
type Effect = NonNullable<ConfigChange['effect']>;

/**
 * The changes of rules, sorted by name. A rule is the same while scope, subject and period are. With more than `mostRules` rules that
 * may differ there is one change without details.
 */
export function diffRules(before: RateLimits, after: RateLimits, mostRules: number): ConfigChange[] {
  const trimmed = trimLists(before, after);
  const [first = [], second = []] = trimmed.map(declaredRules);
  if (Math.max(first.length, second.length) > mostRules) {
    const name = `among ${Math.max(first.length, second.length)} rules`;
    return [describeChange({ kind: 'rule', name, change: 'changed' }, 'too many to compare')];
  }
  const [old, present] = [first, second].map((rules) => new Map(rules.map((rule) => [ruleText(rule), rule])));
  const changed = byKey(old, present);
  const losses = [before.on_store_loss, after.on_store_loss] as const;
  const changes: ConfigChange[] = [];
  for (const [key, rule] of byKey(present, old)) {
    const former = changed.get(key);
    changed.delete(key);
    changes.push(...(former === undefined ? [oneSided('added', rule)] : twoSided(former, rule, losses)));
  }
  for (const rule of changed.values()) changes.push(oneSided('removed', rule));
  return changes.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Both without the entries with which their lists begin and end alike: an edit of one file leaves most entries where they were. */
function trimLists(before: RateLimits, after: RateLimits): [RateLimits, RateLimits] {
  const [userPaths, otherUserPaths] = trim(before.user_paths, after.user_paths);
  const [providers, otherProviders] = trim(before.providers, after.providers);
  const [models, otherModels] = trim(before.models, after.models);
  return [
    { ...before, user_paths: userPaths, providers, models },
    { ...after, user_paths: otherUserPaths, providers: otherProviders, models: otherModels },
  ];
}

function trim<Entry>(before: readonly Entry[], after: readonly Entry[]): [Entry[], Entry[]] {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && isDeepStrictEqual(before[start], after[start])) start += 1;
  let end = 0;
  while (end < most - start && isDeepStrictEqual(before.at(-1 - end), after.at(-1 - end))) end += 1;
  return [before.slice(start, before.length - end), after.slice(start, after.length - end)];
}

/** The rules of one map whose text is not in the other, by the key of the rule. Most rules are the same, and cost no normalising. */
function byKey(
  rules: ReadonlyMap<string, DeclaredRule> = new Map(),
  others: ReadonlyMap<string, DeclaredRule> = new Map(),
): Map<string, DeclaredRule> {
  const found = new Map<string, DeclaredRule>();
  for (const [text, rule] of rules) {
    if (!others.has(text)) found.set(ruleKey(rule.scope, subjectOf(rule), rule.periodSeconds), rule);
  }
  return found;
}

function ruleText({ scope, subject, perChild, limit }: DeclaredRule): string {
  let text = `${scope} ${subject} ${perChild}`;
  for (const [key, value] of Object.entries(limit)) text += ` ${key}=${value}`;
  return text;
}

function subjectOf({ scope, subject }: DeclaredRule): string {
  return normaliseSubject(scope, subject).subject ?? subject;
}

function nameOf(rule: DeclaredRule): string {
  return ruleTitle({ ...rule, subject: normaliseSubject(rule.scope, rule.subject).shown ?? rule.subject });
}

function shown({ perChild, limit }: DeclaredRule): ShownRule {
  const { period: _period, period_seconds: _seconds, ...rest } = limit;
  return { ...rest, ...(perChild ? { per_child: true } : {}) };
}

/** A rule in shadow refuses nothing, so neither its beginning nor its end has an effect. */
function oneSided(change: 'added' | 'removed', rule: DeclaredRule): ConfigChange {
  const isAdded = change === 'added';
  const effect = rule.limit.mode === 'shadow' ? {} : ({ effect: isAdded ? 'tightened' : 'loosened' } as const);
  const value = shown(rule);
  const detail = Object.entries(value)
    .filter(([key, entry]) => key !== 'mode' || entry === 'shadow')
    .map(([key, entry]) => (entry === true ? key : `${key} ${entry}`));
  const sides = isAdded ? { after: value } : { before: value };
  return describeChange({ kind: 'rule', name: nameOf(rule), change, ...effect, ...sides }, detail.join(', '));
}

/** What holds for all rules without the state store, before and after. */
type Losses = readonly [before: OnStoreLoss, after: OnStoreLoss];

/** One change, or none when the two are only written in another way. */
function twoSided(former: DeclaredRule, rule: DeclaredRule, losses: Losses): ConfigChange[] {
  const [before, after] = [shown(former), shown(rule)];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (key) => before[key] !== after[key],
  );
  if (keys.length === 0) return [];
  const effects = effectsOf(former, rule, losses);
  const [effect] = effects.size === 1 ? effects : [];
  const detail = keys.map((key) => `${key} ${sayValue(before[key])} → ${sayValue(after[key])}`).join(', ');
  const sides = { before, after, ...(effect === undefined ? {} : { effect }) };
  return [describeChange({ kind: 'rule', name: nameOf(rule), change: effect ?? 'changed', ...sides }, detail)];
}

function sayValue(value: string | number | boolean | undefined): string {
  return value === undefined ? 'none' : String(value);
}

/**
 * The effects of a change, dimension by dimension; both effects when caps move in opposite directions. A change of mode
 * decides alone: a rule in shadow refuses nothing, whatever its caps. With a counter per child the whole may use more
 * than with one for all.
 */
function effectsOf(before: DeclaredRule, after: DeclaredRule, losses: Losses): Set<Effect> {
  const [from, to] = [before.limit, after.limit];
  if (from.mode !== to.mode) return new Set([to.mode === 'shadow' ? 'loosened' : 'tightened']);
  const effects = new Set<Effect>();
  if (to.mode === 'shadow') return effects;
  if (before.perChild !== after.perChild) effects.add(after.perChild ? 'loosened' : 'tightened');
  for (const cap of ['max_requests', 'max_tokens'] as const) {
    const [old, present] = [from[cap] ?? Number.POSITIVE_INFINITY, to[cap] ?? Number.POSITIVE_INFINITY];
    if (old !== present) effects.add(present > old ? 'loosened' : 'tightened');
  }
  const lost = compareLossModes(to.on_store_loss ?? losses[1], from.on_store_loss ?? losses[0]);
  if (lost !== 0) effects.add(lost > 0 ? 'tightened' : 'loosened');
  return effects;
}
