// A rate-limit rule, and what makes two of them the same rule.
import type { Limit, RateLimits } from '../types.ts';
import { periodSeconds } from './period.ts';
import type { Scope } from './scope.ts';

/** One limit of the configuration with its subject, and the place in `rate_limits` where it stands. */
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

/** Every limit of `rate_limits` as one flat list, in the order it is written. */
export function declaredRules(config: RateLimits): DeclaredRule[] {
  const rules: DeclaredRule[] = [];
  config.user_paths.forEach((entry, index) => {
    add('user_path', entry.path, entry.per_child, entry.limits, 'user_paths', index);
  });
  config.providers.forEach((entry, index) => {
    add('provider', entry.name, false, entry.limits, 'providers', index);
  });
  config.models.forEach((entry, index) => {
    add('model', entry.model, false, entry.limits, 'models', index);
  });
  return rules;

  function add(
    scope: Scope,
    subject: string,
    perChild: boolean,
    limits: Limit[],
    section: DeclaredRule['place'][0],
    entry: number,
  ): void {
    limits.forEach((limit, index) => {
      const place = [section, entry, 'limits', index] as const;
      rules.push({ scope, subject, perChild, periodSeconds: periodSeconds(limit), limit, place });
    });
  }
}
