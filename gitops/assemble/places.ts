// Where each entry of a configuration is declared, for operators who look for it.

import { budgetKey, declaredBudgets, normaliseBudgetSubject } from '../../domain/budgets/budget.ts';
import { budgetPeriodSeconds } from '../../domain/budgets/period.ts';
import { periodSeconds } from '../../domain/rules/period.ts';
import { declaredRules, ruleKey } from '../../domain/rules/rule.ts';
import { normaliseSubject } from '../../domain/rules/scope.ts';
import type { Budgets, Config } from '../../schemas/types.ts';
import type { GivenBudgets } from './environment-budgets.ts';
import type { GivenRules } from './environment-rules.ts';
import type { Sources } from './sources.ts';

/** A name, and where it is declared: `<file>:<line>`, the file relative to the directory; for a rule also the variable that holds it. */
export type NamedPlace = readonly [name: string, place: string];

/** The sections that are lists of entries, each with a name or a source. */
export type ListSection = {
  [Section in keyof Config]-?: Config[Section] extends readonly unknown[] ? Section : never;
}[keyof Config];

/** Lists, because they pass between threads as JSON. Those of list sections are by name or source. */
export interface DeclaredPlaces extends Readonly<Record<ListSection, readonly NamedPlace[]>> {
  /** By name. */
  readonly providers: readonly NamedPlace[];
  /** By rule key. */
  readonly rules: readonly NamedPlace[];
  /** By the key of the budget. */
  readonly budgets: readonly NamedPlace[];
}

/** The entries of the files, before variables replace rules, and before entries are left out. */
export interface DeclaredEntries extends Config {
  /** In the order of the file. */
  readonly providerNames: readonly string[];
}

/** The entries of variables. */
export interface GivenEntries {
  readonly rules: readonly GivenRules[];
  readonly budgets: readonly GivenBudgets[];
}

/** The places of the entries of the files, and of those of variables, which replace all of their subject. */
export function placesOf(
  { providerNames, ...config }: DeclaredEntries,
  { rules: given, budgets: givenBudgets }: GivenEntries,
  sources: Sources,
): DeclaredPlaces {
  const replaced = new Set(given.map(({ scope, subject }) => `${scope} ${subject}`));
  const rules: NamedPlace[] = [];
  for (const { scope, subject, periodSeconds: seconds, place } of declaredRules(config.rate_limits)) {
    const { subject: comparable } = normaliseSubject(scope, subject);
    if (comparable === undefined || replaced.has(`${scope} ${comparable}`)) continue;
    rules.push([ruleKey(scope, comparable, seconds), sources.declaredAt(['rate_limits', ...place])]);
  }
  for (const { variable, scope, subject, limits } of given) {
    for (const { limit } of limits) rules.push([ruleKey(scope, subject, periodSeconds(limit)), variable]);
  }
  return {
    ...placesOfLists(config, sources),
    providers: providerNames.map((name): NamedPlace => [name, sources.declaredAt(['providers', name], 'key')]),
    rules,
    budgets: placesOfBudgets(config.budgets, givenBudgets, sources),
  };
}

function placesOfLists(config: Config, sources: Sources): Record<ListSection, NamedPlace[]> {
  const nameOf = (entry: { readonly name: string } | { readonly source: string }): string =>
    'name' in entry ? entry.name : entry.source;
  const lists = Object.entries(config).filter(([, value]) => Array.isArray(value)) as [
    ListSection,
    Config[ListSection],
  ][];
  const places = lists.map(([section, entries]) => [
    section,
    entries.map((entry, index): NamedPlace => [nameOf(entry), sources.declaredAt([section, index])]),
  ]);
  return Object.fromEntries(places) as Record<ListSection, NamedPlace[]>;
}

function placesOfBudgets(budgets: Budgets, given: readonly GivenBudgets[], sources: Sources): NamedPlace[] {
  const replaced = new Set(given.map(({ subject }) => subject));
  const places = declaredBudgets(budgets).flatMap(
    ({ scope, subject: written, periodSeconds: seconds, place }): NamedPlace[] => {
      const { subject } = normaliseBudgetSubject(scope, written);
      if (subject === undefined || (scope === 'user_path' && replaced.has(subject))) return [];
      return [[budgetKey(scope, subject, seconds), sources.declaredAt(['budgets', ...place])]];
    },
  );
  for (const { variable, subject, budgets: own } of given) {
    for (const { limit } of own) places.push([budgetKey('user_path', subject, budgetPeriodSeconds(limit)), variable]);
  }
  return places;
}
