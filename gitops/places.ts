// Where each entry of a configuration is declared, for operators who look for it.

import { periodSeconds } from '../schemas/rules/period.ts';
import { declaredRules, ruleKey } from '../schemas/rules/rule.ts';
import { normaliseSubject } from '../schemas/rules/scope.ts';
import type { RateLimits } from '../schemas/types.ts';
import type { GivenRules } from './environment-rules.ts';
import type { Sources } from './sources.ts';

/** A name, and where it is declared: `<file>:<line>`, the file relative to the directory; for a rule also the variable that holds it. */
export type Place = readonly [name: string, place: string];

/** Lists, because they pass between threads as JSON. */
export interface DeclaredPlaces {
  /** By name. */
  readonly providers: readonly Place[];
  /** By source. */
  readonly aliases: readonly Place[];
  /** By rule key. */
  readonly rules: readonly Place[];
}

/** What the files hold, before variables replace rules, and before entries are left out. */
export interface DeclaredEntries {
  /** In the order of the file. */
  readonly providerNames: readonly string[];
  readonly aliases: readonly { readonly source: string }[];
  readonly rate_limits: RateLimits;
}

/** The places of the entries of the files, and of the rules of variables, which replace all rules of their subject. */
export function placesOf(
  { providerNames, aliases, rate_limits: rateLimits }: DeclaredEntries,
  given: readonly GivenRules[],
  sources: Sources,
): DeclaredPlaces {
  const replaced = new Set(given.map(({ scope, subject }) => `${scope} ${subject}`));
  const rules: Place[] = [];
  for (const { scope, subject, periodSeconds: seconds, place } of declaredRules(rateLimits)) {
    const { subject: comparable } = normaliseSubject(scope, subject);
    if (comparable === undefined || replaced.has(`${scope} ${comparable}`)) continue;
    rules.push([ruleKey(scope, comparable, seconds), sources.declaredAt(['rate_limits', ...place])]);
  }
  for (const { variable, scope, subject, limits } of given) {
    for (const { limit } of limits) rules.push([ruleKey(scope, subject, periodSeconds(limit)), variable]);
  }
  return {
    providers: providerNames.map((name): Place => [name, sources.declaredAt(['providers', name], 'key')]),
    aliases: aliases.map(({ source }, index): Place => [source, sources.declaredAt(['aliases', index])]),
    rules,
  };
}
