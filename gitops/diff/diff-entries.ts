// The differences between named entries of two configurations: providers, aliases, guardrails and keys of clients. Pure.
import { isDeepStrictEqual } from 'node:util';
import { guardrailKinds, kindOf } from '../../domain/guardrails/merge-guardrails.ts';
import { isDiscovering, modelIds } from '../../domain/listed-models.ts';
import { foldCase } from '../../domain/selector.ts';
import type { Alias, ConfigKey, Guardrail, Provider } from '../../schemas/types.ts';
import type { AssembledConfig } from '../assemble/assembled.ts';
import { mayHoldVariable } from '../read/expand.ts';
import { isSecret } from '../read/problem.ts';
import { maySayText } from '../read/said-values.ts';
import { type ConfigChange, describeChange, nameSome } from './config-change.ts';
import { type Effect, effectOf, type Scales } from './effects.ts';
import { flatten, sayMembers, sayValue } from './members.ts';

/** How entries of one kind are compared. */
interface EntryKind<Entry> {
  readonly kind: ConfigChange['kind'];
  readonly named: (entry: Entry, key: string) => string;
  /** The part of an entry that may be shown. */
  readonly shown: (entry: Entry) => object;
  readonly sayContent: (entry: Entry) => string;
  /** Empty: they are the same. */
  readonly sayDifferences: (before: Entry, after: Entry) => string[];
  /** One of the two may be undefined. */
  readonly effect: (before: Entry | undefined, after: Entry | undefined) => Effect | undefined;
}

const providerKind: EntryKind<Provider> = {
  kind: 'provider',
  named: (_, key) => key,
  // What variables may fill in may be a secret.
  shown: (provider) => Object.fromEntries(Object.entries(provider).filter(([key]) => !isHidden(key))),
  sayContent: (provider) => (isDiscovering(provider) ? 'models discovered' : nameSome(modelIds(provider))),
  sayDifferences: (before, after) =>
    sayMembers(flatten(before), flatten(after), (member) => {
      const [key = ''] = member.split('.');
      return isHidden(key) ? key : undefined;
    }),
  effect: (before, after) => before && after && effectOf(providerScales, flatten(before), flatten(after)),
};

const providerScales: Scales = { allow_private: [true, false], allow_routing_members: [true, false] };

/** Whether the value of a key of a provider may be a secret, or a place where one was written by mistake. */
function isHidden(key: string): boolean {
  return mayHoldVariable(key) || isSecret(['providers', '', key]);
}

const aliasKind: EntryKind<Alias> = {
  kind: 'alias',
  named: ({ source }) => source,
  shown: (alias) => alias,
  sayContent: sayTargets,
  sayDifferences: sayAliasDifferences,
  effect: (before, after) => before && after && effectOf(aliasScales, flatten(before), flatten(after)),
};

const aliasScales: Scales = { user_paths: { more: 'loosened', of: 'paths' } };

function sayAliasDifferences(before: Alias, after: Alias): string[] {
  const { source: from, targets: _1, ...old } = before;
  const { source: to, targets: _2, ...present } = after;
  return [
    ...(from === to ? [] : [`source ${from} → ${to}`]),
    ...(isDeepStrictEqual(before.targets, after.targets) ? [] : [`${sayTargets(before)} → ${sayTargets(after)}`]),
    ...sayMembers(flatten(old), flatten(present), () => undefined),
  ];
}

/** `a/m (weight 3), b/m (weight 1, tier 2)`; weights only where they differ, tiers where they are said. */
function sayTargets({ targets }: Alias): string {
  const hasWeights = targets.some(({ weight }) => weight !== 1);
  return nameSome(
    targets.map(({ model, weight, tier, when }) => {
      const said = [
        ...(hasWeights ? [`weight ${weight}`] : []),
        ...(tier === undefined ? [] : [`tier ${tier}`]),
        ...(when === undefined ? [] : [`when ${when}`]),
      ];
      return said.length === 0 ? model : `${model} (${said.join(', ')})`;
    }),
  );
}

const guardrailKind: EntryKind<Guardrail> = {
  kind: 'guardrail',
  named: ({ name }) => name,
  shown: (guardrail) => Object.fromEntries([...membersOf(guardrail)].filter(([key, value]) => maySay(key, value))),
  sayContent: (guardrail) => {
    const [kind, members] = [kindOf(guardrail), membersOf(guardrail)];
    const told = [`${kind}.action`, `${kind}.fail`, 'user_paths', 'models'].filter((key) => members.has(key));
    const shadow = guardrail.mode === 'shadow' ? ['mode shadow'] : [];
    return [kind, ...shadow, ...told.map((key) => `${key.replace(`${kind}.`, '')} ${sayValue(members.get(key))}`)].join(
      ', ',
    );
  },
  sayDifferences: (before, after) =>
    sayMembers(membersOf(before), membersOf(after), (key, value) =>
      maySay(key, value) ? undefined : key.split('.').slice(0, 2).join('.'),
    ),
  effect: effectOfGuardrail,
};

const tightens = { more: 'tightened', of: 'list' } as const;
const actions = ['flag', 'mask', 'redact', 'block'];
const guardrailScales: Scales = {
  on: tightens,
  roles: tightens,
  models: tightens,
  user_paths: { more: 'tightened', of: 'paths' },
  'pii.action': actions,
  'pii.kinds': tightens,
  'regex.action': actions,
  'regex.patterns': tightens,
  'keywords.action': actions,
  'keywords.words': tightens,
  'keywords.whole_words': [true, false],
  'schema.action': actions,
  'limits.max_prompt_characters': { more: 'loosened', of: 'number' },
  'limits.max_tools': { more: 'loosened', of: 'number' },
  'limits.max_tokens': { more: 'loosened', of: 'number' },
  'limits.allowed_tools': { more: 'loosened', of: 'list' },
  'limits.when_above': ['cap', 'block'],
  'webhook.fail': ['open', 'closed'],
  'llm.fail': ['open', 'closed'],
};

/** One that only records has no effect; what two of different kinds do cannot be compared. */
function effectOfGuardrail(before: Guardrail | undefined, after: Guardrail | undefined): Effect | undefined {
  const [was, is] = [acts(before), acts(after)];
  if (was !== is) return is ? 'tightened' : 'loosened';
  if (!was || before === undefined || after === undefined || kindOf(before) !== kindOf(after)) return undefined;
  return effectOf(guardrailScales, membersOf(before), membersOf(after));
}

/** Whether it refuses or changes anything. */
function acts(guardrail: Guardrail | undefined): boolean {
  if (guardrail === undefined || guardrail.mode === 'shadow') return false;
  return !guardrailKinds.some((kind) => {
    const block = guardrail[kind];
    return block !== undefined && 'action' in block && block.action === 'flag';
  });
}

/** With the phases that hold where none are written. */
function membersOf(guardrail: Guardrail): Map<string, unknown> {
  return flatten({ ...guardrail, on: guardrail.on ?? [guardrail.schema === undefined ? 'input' : 'output'] });
}

/** Words that are looked for, prompts and addresses are not for everyone. */
function maySay(member: string, value: unknown): boolean {
  return maySayText(['guardrails', 0, ...member.split('.')], value);
}

const keyKind: EntryKind<ConfigKey> = {
  kind: 'key',
  named: ({ name }) => name,
  shown: (key) => Object.fromEntries(Object.entries(key).filter(([member]) => !hiddenOfKeys.has(member))),
  sayContent: ({ user_path: path = '/', any_user_path: isAny, allowed_models: models = [], enabled }) =>
    [isAny ? 'any user path' : `user path ${path}`, models.length === 0 ? 'every model' : nameSome(models)]
      .concat(enabled ? [] : ['not enabled'])
      .join(', '),
  sayDifferences: (before, after) =>
    sayMembers(membersOfKey(before), membersOfKey(after), (member) => (hiddenOfKeys.has(member) ? member : undefined)),
  effect(before, after) {
    const [was, is] = [before?.enabled === true, after?.enabled === true];
    if (was !== is) return is ? 'loosened' : 'tightened';
    return before && after && was ? effectOf(keyScales, membersOfKey(before), membersOfKey(after)) : undefined;
  },
};

/** A secret may stand in the place of its file by mistake. */
const hiddenOfKeys: ReadonlySet<string> = new Set(['hash', 'value_file']);

const keyScales: Scales = {
  any_user_path: [true, false],
  role: ['admin', 'operator', 'viewer', 'none'],
  allowed_models: { more: 'loosened', of: 'list' },
};

/** With the role that holds, and without an empty list of models, which restricts nothing. */
function membersOfKey({
  allowed_models: models = [],
  dashboard_access: hasAccess,
  ...key
}: ConfigKey): Map<string, unknown> {
  const role = hasAccess ? (key.role ?? 'admin') : 'none';
  return flatten({ ...key, role, ...(models.length === 0 ? {} : { allowed_models: models }) });
}

/** The changes of keys of clients, sorted by name. Never a hash. */
export function diffKeys(before: AssembledConfig, after: AssembledConfig): ConfigChange[] {
  const byName = ({ keys }: AssembledConfig) => new Map(keys.map((each) => [each.name, each]));
  return diffEntries(keyKind, byName(before), byName(after));
}

/** The changes of providers and aliases, each sorted by name. */
export function diffRoutes(before: AssembledConfig, after: AssembledConfig): ConfigChange[] {
  const providersOf = ({ providers }: AssembledConfig) => new Map(Object.entries(providers));
  return [
    ...diffEntries(providerKind, providersOf(before), providersOf(after)),
    ...diffOrder('providers', orderOfProviders(before), orderOfProviders(after)),
    ...diffEntries(aliasKind, aliasesOf(before), aliasesOf(after)),
  ];
}

/** The changes of guardrails, sorted by name, and of the order in which they look. */
export function diffGuardrails(before: AssembledConfig, after: AssembledConfig): ConfigChange[] {
  const byName = ({ guardrails }: AssembledConfig) => new Map(guardrails.map((each) => [each.name, each]));
  const inOrder = ({ guardrails }: AssembledConfig): string[] =>
    guardrails.toSorted((a, b) => a.order - b.order).map(({ name }) => name);
  return [
    ...diffEntries(guardrailKind, byName(before), byName(after)),
    ...diffOrder('guardrails', inOrder(before), inOrder(after)),
  ];
}

function aliasesOf({ aliases }: AssembledConfig): Map<string, Alias> {
  return new Map(aliases.map((alias) => [foldCase(alias.source), alias]));
}

/** A bare model goes to the first provider that lists it. */
function orderOfProviders({ providerNames, providers }: AssembledConfig): readonly string[] {
  return providerNames ?? Object.keys(providers);
}

function diffEntries<Entry>(
  entries: EntryKind<Entry>,
  before: ReadonlyMap<string, Entry>,
  after: ReadonlyMap<string, Entry>,
): ConfigChange[] {
  const { kind, named, shown, sayContent, sayDifferences } = entries;
  return [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((key): ConfigChange[] => {
    const [old, present] = [before.get(key), after.get(key)];
    const one = present ?? old;
    if (one === undefined || isDeepStrictEqual(old, present)) return [];
    const effect = entries.effect(old, present);
    const base = { kind, name: named(one, key), ...(effect === undefined ? {} : { effect }) };
    if (old === undefined) return [describeChange({ ...base, change: 'added', after: shown(one) }, sayContent(one))];
    if (present === undefined) return [describeChange({ ...base, change: 'removed', before: shown(one) }, '')];
    const said = sayDifferences(old, present);
    if (said.length === 0) return [];
    const sides = { before: shown(old), after: shown(present) };
    return [describeChange({ ...base, change: effect ?? 'changed', ...sides }, nameSome(said))];
  });
}

/** Of names that are in both, whether they changed places. */
function diffOrder(what: string, before: readonly string[], after: readonly string[]): ConfigChange[] {
  const kept = before.filter((name) => after.includes(name));
  const now = after.filter((name) => before.includes(name));
  if (isDeepStrictEqual(kept, now)) return [];
  const change = { kind: 'setting', name: `order of ${what}`, change: 'changed', before: kept, after: now } as const;
  return [describeChange(change, `${nameSome(kept)} → ${nameSome(now)}`)];
}
