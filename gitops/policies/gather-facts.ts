// What policies can ask of a configuration: the entries of its files, and where each is written.
import { createFlattener } from '../../domain/aliases/flatten.ts';
import { type ModelNames, modelNames } from '../../domain/aliases/model-names.ts';
import { NameTable } from '../../domain/aliases/name-table.ts';
import { budgetTitle, declaredBudgets, normaliseBudgetSubject } from '../../domain/budgets/budget.ts';
import { type AllFacts, type Facts, notKnown, written } from '../../domain/policies/kinds.ts';
import { pricingIn } from '../../domain/prices/price-book.ts';
import { declaredRules, ruleTitle } from '../../domain/rules/rule.ts';
import { normaliseSubject } from '../../domain/rules/scope.ts';
import { foldCase } from '../../domain/selector.ts';
import { daysBetween } from '../../domain/timestamp.ts';
import { foldUserPath, normaliseUserPath } from '../../domain/user-path.ts';
import type { Config, Model, Provider } from '../../schemas/types.ts';
import type { Path } from '../../schemas/validation/path.ts';
import type { Examined } from '../assemble/examined.ts';
import { listedTargets, type WrittenAlias } from '../assemble/written-aliases.ts';

export interface Gathered {
  readonly facts: AllFacts;
  /** Of each entry: where it is declared. */
  readonly places: ReadonlyMap<Facts, Path>;
}

/** `today`: YYYY-MM-DD; undefined: how long keys are left is not known. */
export function gatherFacts(examined: Examined, today?: string): Gathered {
  const { config, sources, providerNames } = examined;
  const places = new Map<Facts, Path>();
  const place = (path: Path, facts: Facts): Facts => {
    const entry = { ...facts, file: sources.fileName(path) };
    places.set(entry, path);
    return entry;
  };
  const names = new Map(providerNames.map((name) => [foldCase(name), name]));
  const model = providerNames.flatMap((name) => modelsOf(name, examined).map(({ path, facts }) => place(path, facts)));
  const provider = providerNames.map((name) => place(['providers', name], providerFacts(name, examined, model)));
  const rule = declaredRules(config.rate_limits).map(
    ({ scope, subject, periodSeconds, perChild, limit, place: at }) => {
      const { subject: folded = subject, shown = subject } = normaliseSubject(scope, subject);
      const title = ruleTitle({ scope, subject: shown, periodSeconds });
      const who = { user_path: folded, provider: names.get(folded) ?? subject, model: subject }[scope];
      const facts = { ...limit, title, seconds: periodSeconds, per_child: perChild, [scope]: who };
      return place(['rate_limits', ...at.slice(0, 2)], facts);
    },
  );
  const budget = declaredBudgets(config.budgets).map(
    ({ scope, subject, periodSeconds, perChild, limit, place: at }) => {
      const { subject: folded = subject, shown = subject } = normaliseBudgetSubject(scope, subject);
      const title = budgetTitle({ scope, subject: shown, periodSeconds });
      const facts = { ...limit, title, seconds: periodSeconds, per_child: perChild, [scope]: folded };
      return place(['budgets', ...at.slice(0, 2)], facts);
    },
  );
  const key = config.keys.map(({ user_path: own, ...rest }, index) => {
    const facts = { ...rest, title: rest.name, ...(own === undefined ? {} : { user_path: pathOf(own) }) };
    return place(['keys', index], { ...facts, ...daysLeft(rest.expires_at, today) });
  });
  const guardrail = config.guardrails.map((entry, index) =>
    place(['guardrails', index], { ...entry, title: entry.name, kind: kindOfGuardrail(entry) }),
  );
  const identity = Object.entries(config.identities).map(([name, entry]) =>
    place(['identities', name], { ...entry, title: name, name }),
  );
  const alias = aliasFacts(examined).map((entry, index) => place(['aliases', index], entry));
  const user_path = userPaths(config).map(({ path, facts }) => place(path, facts));
  const facts: AllFacts = {
    provider,
    model,
    alias,
    rule,
    budget,
    guardrail,
    key,
    identity,
    user_path,
    config: { ...config },
  };
  return { facts, places };
}

function pathOf(text: string): string {
  return foldUserPath(normaliseUserPath(text).path ?? text);
}

interface Placed {
  readonly path: Path;
  readonly facts: Facts;
}

function modelsOf(name: string, { config }: Examined): Placed[] {
  const provider = config.providers[name];
  return (provider?.models ?? []).map((model: Model, index) => {
    const entry = typeof model === 'string' ? { id: model } : model;
    const title = `${name}/${entry.id}`;
    const priced = provider !== undefined && pricingIn(provider, model, config.usage) !== undefined;
    return {
      path: ['providers', name, 'models', index],
      facts: { ...entry, title, name: title, provider: name, priced },
    };
  });
}

function providerFacts(name: string, { config, sources }: Examined, models: readonly Facts[]): Facts {
  const provider: Partial<Provider> = config.providers[name] ?? {};
  const path = ['providers', name, 'base_url'];
  const isWritten = typeof sources.written(path) === 'string';
  return {
    ...provider,
    ...(isWritten && sources.isUnknown(path) ? { base_url: notKnown } : {}),
    ...(provider.models === undefined ? {} : { models: models.filter((model) => model['provider'] === name) }),
    title: name,
    name,
    [written]: isWritten ? { base_url: sources.written(path) } : {},
  };
}

function daysLeft(end: string | undefined, today: string | undefined): { days_left?: number | typeof notKnown } {
  if (end === undefined) return {};
  return { days_left: today === undefined ? notKnown : Math.ceil(daysBetween(today, end)) };
}

/** The key that says what it does. */
function kindOfGuardrail(entry: Config['guardrails'][number]): string {
  const general = new Set(['name', 'user_paths', 'models', 'on', 'roles', 'mode', 'order']);
  return Object.keys(entry).find((key) => !general.has(key)) ?? '';
}

function aliasFacts({ config, providerNames }: Examined): Facts[] {
  const list = (config.aliases as readonly WrittenAlias[]).map((alias) => ({
    ...alias,
    targets: listedTargets(alias),
  }));
  const names: ModelNames = modelNames({ ...config, providerNames });
  const flatten = createFlattener(new NameTable(list, names));
  return list.map((alias) => {
    const leaves = flatten(alias)?.leaves ?? [];
    return { ...alias, title: alias.source, providers: [...new Set(leaves.map(({ provider }) => provider))] };
  });
}

/** Every user path that has rules, budgets or keys, where it is named first. */
function userPaths({ rate_limits, budgets, keys }: Config): Placed[] {
  const named: [path: Path, written: string | undefined][] = [
    ...rate_limits.user_paths.map(({ path }, index): [Path, string] => [['rate_limits', 'user_paths', index], path]),
    ...budgets.user_paths.map(({ path }, index): [Path, string] => [['budgets', 'user_paths', index], path]),
    ...keys.map(({ user_path: own }, index): [Path, string | undefined] => [['keys', index], own]),
  ];
  const found = new Map<string, Placed>();
  for (const [path, given] of named) {
    const shown = given === undefined ? undefined : normaliseUserPath(given).path;
    if (shown === undefined || found.has(foldUserPath(shown))) continue;
    const folded = foldUserPath(shown);
    const depth = folded === '/' ? 0 : folded.split('/').length - 1;
    const parent = depth === 0 ? {} : { parent: folded.slice(0, folded.lastIndexOf('/')) || '/' };
    found.set(folded, { path, facts: { title: shown, path: folded, depth, ...parent } });
  }
  return [...found.values()];
}
