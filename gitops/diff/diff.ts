// The differences between two assembled configurations, for `check-config --diff` and for the log. Pure.
import { isDeepStrictEqual } from 'node:util';
import { isDiscovering, modelIds } from '../../domain/listed-models.ts';
import { lossModes } from '../../domain/rules/on-store-loss.ts';
import { foldCase } from '../../domain/selector.ts';
import type { Alias, Provider } from '../../schemas/types.ts';
import { isTree } from '../../schemas/validation/value-at.ts';
import type { AssembledConfig } from '../assemble/assembled.ts';
import { mayHoldVariable } from '../read/expand.ts';
import { isSecret } from '../read/problem.ts';
import { type ConfigChange, describeChange, nameSome } from './config-change.ts';
import { diffBudgets } from './diff-budgets.ts';
import { diffRules } from './diff-rules.ts';

/**
 * The changes of providers, aliases, rules, budgets and settings, in this order. Never the value of a key, a header or an address. More than
 * `mostRules` rules that may differ are one change without details: 1,000 take about 15 ms.
 */
export function diffConfigs(
  before: AssembledConfig,
  after: AssembledConfig,
  mostRules: number = Number.POSITIVE_INFINITY,
): ConfigChange[] {
  return [
    ...diffNamed('provider', new Map(Object.entries(before.providers)), new Map(Object.entries(after.providers))),
    ...diffProviderOrder(before, after),
    ...diffNamed('alias', aliasesOf(before), aliasesOf(after)),
    ...diffRules(before.rate_limits, after.rate_limits, mostRules),
    ...diffBudgets(before.budgets, after.budgets),
    ...diffSettings(before, after),
  ];
}

function aliasesOf({ aliases }: AssembledConfig): Map<string, Alias> {
  return new Map(aliases.map((alias) => [foldCase(alias.source), alias]));
}

type Entry = Provider | Alias;

function diffNamed(
  kind: 'provider' | 'alias',
  before: ReadonlyMap<string, Entry>,
  after: ReadonlyMap<string, Entry>,
): ConfigChange[] {
  const changes: ConfigChange[] = [];
  for (const key of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const [old, present] = [before.get(key), after.get(key)];
    if (isDeepStrictEqual(old, present)) continue;
    const shown = (entry: Entry | undefined): object => (entry === undefined ? {} : show(entry));
    const entry = present ?? old;
    const name = entry !== undefined && 'source' in entry ? entry.source : key;
    if (old !== undefined && present !== undefined) {
      const detail = sayDifferences(old, present);
      if (detail !== '')
        changes.push(
          describeChange({ kind, name, change: 'changed', before: shown(old), after: shown(present) }, detail),
        );
    } else if (old === undefined)
      changes.push(describeChange({ kind, name, change: 'added', after: shown(present) }, sayContent(present)));
    else changes.push(describeChange({ kind, name, change: 'removed', before: shown(old) }, ''));
  }
  return changes;
}

/** The part of an entry that may be shown: what variables may fill in may be a secret. */
function show(entry: Entry): object {
  if ('source' in entry) return entry;
  return Object.fromEntries(Object.entries(entry).filter(([key]) => !isHidden(key)));
}

/** Whether the value of a key of a provider may be a secret, or a place where one was written by mistake. */
function isHidden(key: string): boolean {
  return mayHoldVariable(key) || isSecret(['providers', '', key]);
}

function sayContent(entry: Entry | undefined): string {
  if (entry === undefined) return '';
  if ('source' in entry) return sayTargets(entry);
  return isDiscovering(entry) ? 'models discovered' : nameSome(modelIds(entry));
}

/** The changed members: lists by what came and went, aliases by their targets, anything that may be secret by its name alone. */
function sayDifferences(before: Entry, after: Entry): string {
  if ('source' in before && 'source' in after) return sayAliasDifferences(before, after);
  return nameSome([...new Set(sayMembers(flatten(before), flatten(after)))]);
}

function sayMembers(old: ReadonlyMap<string, unknown>, present: ReadonlyMap<string, unknown>): string[] {
  const keys = [...new Set([...old.keys(), ...present.keys()])].sort();
  return keys.flatMap((key) => {
    const [from, to] = [old.get(key), present.get(key)];
    if (isDeepStrictEqual(from, to)) return [];
    if (isHidden(key.split('.')[0] ?? '')) return [key.split('.')[0] ?? ''];
    if (Array.isArray(from) && Array.isArray(to))
      return [`${key} ${sayListDifference(from.map(sayValue), to.map(sayValue))}`];
    return [`${key} ${sayValue(from)} → ${sayValue(to)}`];
  });
}

function sayAliasDifferences(before: Alias, after: Alias): string {
  const said: string[] = [];
  if (before.source !== after.source) said.push(`source ${before.source} → ${after.source}`);
  if (!isDeepStrictEqual(before.targets, after.targets)) said.push(`${sayTargets(before)} → ${sayTargets(after)}`);
  const { source: _1, targets: _2, ...old } = before;
  const { source: _3, targets: _4, ...present } = after;
  return [...said, ...sayMembers(flatten(old), flatten(present))].join(', ');
}

/** `a/m (weight 3), b/m (weight 1)`; weights only where they differ. */
function sayTargets({ targets }: Alias): string {
  const hasWeights = targets.some(({ weight }) => weight !== 1);
  return nameSome(targets.map(({ model, weight }) => (hasWeights ? `${model} (weight ${weight})` : model)));
}

function sayListDifference(before: readonly string[], after: readonly string[]): string {
  const [old, present] = [new Set(before), new Set(after)];
  const added = after.filter((item) => !old.has(item)).map((item) => `+${item}`);
  const removed = before.filter((item) => !present.has(item)).map((item) => `-${item}`);
  return added.length + removed.length === 0 ? 'in another order' : nameSome([...added, ...removed]);
}

/** A bare model goes to the first provider that lists it. */
function diffProviderOrder(before: AssembledConfig, after: AssembledConfig): ConfigChange[] {
  const [old, present] = [before, after].map(({ providerNames, providers }) => providerNames ?? Object.keys(providers));
  const kept = (old ?? []).filter((name) => present?.includes(name));
  const now = (present ?? []).filter((name) => old?.includes(name));
  if (isDeepStrictEqual(kept, now)) return [];
  const change = { kind: 'setting', name: 'order of providers', change: 'changed', before: kept, after: now } as const;
  return [describeChange(change, `${nameSome(kept)} → ${nameSome(now)}`)];
}

/** Every value that is not an entry of a list or a provider. */
function diffSettings(before: AssembledConfig, after: AssembledConfig): ConfigChange[] {
  const [old, present] = [before, after].map((config) => {
    // Without the entries, and without what an assembled config has beside the document.
    const {
      providers: _1,
      aliases: _2,
      providerNames: _3,
      places: _4,
      keyFiles: _5,
      droppedTargets: _6,
      rate_limits,
      budgets,
      ...rest
    } = config;
    const { user_paths: _paths, providers: _limits, models: _models, ...limits } = rate_limits;
    const { user_paths: _budgets, labels: _labels, ...windows } = budgets;
    return flatten({ ...rest, rate_limits: limits, budgets: windows });
  });
  if (old === undefined || present === undefined) return [];
  return [...new Set([...old.keys(), ...present.keys()])].sort().flatMap((name): ConfigChange[] => {
    const [from, to] = [old.get(name), present.get(name)];
    if (isDeepStrictEqual(from, to)) return [];
    const sides = { ...(from === undefined ? {} : { before: from }), ...(to === undefined ? {} : { after: to }) };
    const detail = `${sayValue(from)} → ${sayValue(to)}`;
    const effect = effectOfSetting(name, from, to);
    if (effect === undefined) return [describeChange({ kind: 'setting', name, change: 'changed', ...sides }, detail)];
    return [describeChange({ kind: 'setting', name, change: effect, effect, ...sides }, detail)];
  });
}

/** Settings that bound consumers more or less, with their values from the loosest. */
const bounding: ReadonlyMap<string, readonly unknown[]> = new Map<string, readonly unknown[]>([
  ['rate_limits.enabled', [false, true]],
  ['budgets.enabled', [false, true]],
  ['rate_limits.reserve_tokens', ['none', 'p50', 'p90', 'max']],
  ['rate_limits.on_store_loss', lossModes],
  ['rate_limits.scope', ['replica', 'fleet']],
]);

/** What a changed setting is to consumers; undefined: it does not bound them. */
function effectOfSetting(name: string, from: unknown, to: unknown): 'tightened' | 'loosened' | undefined {
  const values = bounding.get(name);
  // What holds without a value depends on how the gateway is run.
  if (values === undefined || !values.includes(from) || !values.includes(to)) return undefined;
  return values.indexOf(to) > values.indexOf(from) ? 'tightened' : 'loosened';
}

/** Every value that is not a mapping, by its keys joined with dots. */
function flatten(value: object, prefix: string = ''): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const [key, item] of Object.entries(value)) {
    if (isTree(item) && !Array.isArray(item))
      for (const [name, inner] of flatten(item, `${prefix}${key}.`)) found.set(name, inner);
    else found.set(`${prefix}${key}`, item);
  }
  return found;
}

function sayValue(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value).replaceAll('"', '').slice(0, mostLetters);
}

/** The most of one value that a sentence shows. */
const mostLetters = 200;
