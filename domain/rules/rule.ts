// A rate-limit rule, and its identity.
import type { Limit, RateLimits } from '../../schemas/types.ts';
import type { OnStoreLoss } from './on-store-loss.ts';
import { periodLabel, periodSeconds } from './period.ts';
import { uniqueRuleIds } from './rule-id.ts';
import { normaliseSubject, type Scope } from './scope.ts';

/** A rule ready to be enforced (spec, Rate limit rule). It is replaced, never changed; the limiter has its counters. */
export interface Rule {
  /** The identity: scope, normalised subject and period. */
  readonly key: string;
  /** Short and stable, for metric labels; unique within a set. */
  readonly id: string;
  /**
   * The name that operators gave: 1 to 64 characters that a header may hold. Not part of the identity, and not unique.
   */
  readonly name?: string;
  readonly scope: Scope;
  /** The subject to show: a name as written, a user path normalised. */
  readonly subject: string;
  /** The subject to compare, in lower case. */
  readonly matchSubject: string;
  /** The subject of a model rule is a bare id although it has a slash, because no provider is named like its first part. */
  readonly bareId?: true;
  /** Every direct child of the user path owns independent counters. */
  readonly perChild: boolean;
  /** 0: requests in flight. */
  readonly periodSeconds: number;
  /** 1 … 2^53−1, or 0 for a block; absent when this dimension is not limited. */
  readonly maxRequests?: number;
  readonly maxTokens?: number;
  /** When a block ends, in Unix milliseconds: present when a cap is 0. */
  readonly blockedUntilMs?: number;
  readonly mode: 'enforce' | 'shadow';
  /** What holds while the store is lost; absent: as for all rules. */
  readonly onStoreLoss?: OnStoreLoss;
  readonly source: 'config' | 'manual';
  /** Generation of the counters: a higher epoch clears them (reset, deletion, change between shared and template). */
  readonly epoch: number;
}

/** The part of `rate_limits` that declares rules. */
export type RuleLists = Pick<RateLimits, 'enabled' | 'user_paths' | 'providers' | 'models'>;

/** One limit of the configuration with its subject and its place in `rate_limits`. */
export interface DeclaredRule {
  scope: Scope;
  /** As written; `normaliseSubject` gives the form to compare. */
  subject: string;
  perChild: boolean;
  /** 0 for requests in flight. */
  periodSeconds: number;
  limit: Limit;
  /** Where the limit is: for example `["user_paths", 0, "limits", 2]`. */
  place: readonly [section: 'user_paths' | 'providers' | 'models', entry: number, 'limits', index: number];
}

/** The identity of a rule: scope, normalised subject and period; caps, mode and per_child are not part of it. */
export function ruleKey(scope: Scope, normalisedSubject: string, seconds: number): string {
  return `${scope} ${seconds} ${normalisedSubject}`;
}

/** The period in a rule key, in seconds; undefined for a text that is not a rule key. */
export function periodOf(key: string): number | undefined {
  const seconds = /^[a-z_]+ (\d+) /.exec(key)?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}

/** The user path in a rule key; undefined for a text that is not the key of a user-path rule. */
export function userPathOfKey(key: string): string | undefined {
  return /^user_path \d+ (.*)$/s.exec(key)?.[1];
}

/** Every limit of `rate_limits` as one flat list, in the order it is written. */
export function declaredRules({ user_paths, providers, models }: RuleLists): DeclaredRule[] {
  return [
    ...user_paths.flatMap(({ path, per_child, limits }, entry) =>
      rulesOf({ scope: 'user_path', subject: path, perChild: per_child }, limits, ['user_paths', entry]),
    ),
    ...providers.flatMap(({ name, limits }, entry) =>
      rulesOf({ scope: 'provider', subject: name, perChild: false }, limits, ['providers', entry]),
    ),
    ...models.flatMap(({ model, limits }, entry) =>
      rulesOf({ scope: 'model', subject: model, perChild: false }, limits, ['models', entry]),
    ),
  ];
}

/** The limits of one subject as rules; `place`: where the subject stands in `rate_limits`. */
function rulesOf(
  subject: Pick<DeclaredRule, 'scope' | 'subject' | 'perChild'>,
  limits: readonly Limit[],
  [section, entry]: readonly [DeclaredRule['place'][0], number],
): DeclaredRule[] {
  return limits.map((limit, index) => {
    const place = [section, entry, 'limits', index] as const;
    return { ...subject, periodSeconds: periodSeconds(limit), limit, place };
  });
}

/** The name of a rule in refusals and logs: its name, else its id. Both are safe in a header. */
export function ruleLabel({ name, id }: Pick<Rule, 'name' | 'id'>): string {
  return name ?? id;
}

/** The title of a rule in log lines, diffs and messages: for example `user_path /team-a minute`. */
export function ruleTitle({
  scope,
  subject,
  periodSeconds: seconds,
}: Pick<Rule, 'scope' | 'subject' | 'periodSeconds'>): string {
  return `${scope} ${subject} ${periodLabel(seconds)}`;
}

/**
 * Compares two rules for checks, ties and listings: scope, normalised subject, period. Returns a number below, equal to
 * or above 0, as `Array.sort` needs.
 */
export function compareRules(a: Rule, b: Rule): number {
  if (a.scope !== b.scope) return a.scope < b.scope ? -1 : 1;
  if (a.matchSubject !== b.matchSubject) return a.matchSubject < b.matchSubject ? -1 : 1;
  return a.periodSeconds - b.periodSeconds;
}

/**
 * The rules of a validated `rate_limits` section, sorted, also while it is switched off. Throws a RangeError for an invalid subject; the
 * loader rejects such a configuration before.
 */
export function compileRules(rateLimits: RuleLists): Rule[] {
  const rules = declaredRules(rateLimits).map(compileRule);
  const ids = uniqueRuleIds(rules.map(({ key }) => key));
  return rules.map((rule, index): Rule => Object.freeze({ ...rule, id: ids[index] ?? '' })).sort(compareRules);
}

function compileRule({ scope, subject, perChild, periodSeconds: seconds, limit }: DeclaredRule): Omit<Rule, 'id'> {
  const normalised = normaliseSubject(scope, subject);
  if (normalised.problem !== undefined) throw new RangeError(`the subject of a ${scope} rule ${normalised.problem}`);
  return {
    key: ruleKey(scope, normalised.subject, seconds),
    ...(limit.name === undefined ? {} : { name: limit.name }),
    scope,
    subject: normalised.shown,
    matchSubject: normalised.subject,
    perChild,
    periodSeconds: seconds,
    ...(limit.max_requests === undefined ? {} : { maxRequests: limit.max_requests }),
    ...(limit.max_tokens === undefined ? {} : { maxTokens: limit.max_tokens }),
    mode: limit.mode,
    ...(limit.on_store_loss === undefined ? {} : { onStoreLoss: limit.on_store_loss }),
    source: 'config',
    epoch: 0,
  };
}
