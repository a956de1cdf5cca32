// Makes aliases of the groups of LiteLLM: their deployments by weight or in order, and behind them those of their fallbacks.
import { foldCase } from '../../../domain/selector.ts';
import { type DraftAlias, literal, note } from '../draft.ts';
import { isModelName, longestName } from '../names.ts';
import { isDiscovering } from '../provider-book.ts';
import { wholeShares } from '../shares.ts';
import type { Translator } from '../traits.ts';
import { type Deployment, groupsOf } from './deployments.ts';
import type { Routing } from './routing.ts';

/** The most targets of an alias in the configuration. */
const mostTargets = 100;
const mostAttempts = 10;

interface Group {
  readonly name: string;
  readonly deployments: readonly Deployment[];
}

/** Adds an alias for each group whose name would not lead to its deployment by itself, and for each of `model_group_alias`. */
export function addAliases(translator: Translator, deployments: readonly Deployment[], routing: Routing): void {
  const groups = new Map(
    [...groupsOf(deployments)].map(([key, all]): [string, Group] => [
      key,
      { name: all[0]?.group ?? key, deployments: all },
    ]),
  );
  noteSpellings(translator, groups);
  for (const [key, group] of groups) addGroup(translator, group, { key, groups, routing, deployments });
  noteFallbacks(translator, groups, routing);
  for (const { name, target, piece } of routing.renamed) {
    const group = groups.get(foldCase(target));
    const source = literal(name);
    if (translator.draft.aliases.some((alias) => foldCase(alias.source) === foldCase(source))) continue;
    if (group === undefined) {
      note(translator, 'lost', piece, { text: unknownGroup });
      continue;
    }
    if (name.includes('*') || group.name.includes('*') || !isModelName(name, longestName)) {
      note(translator, 'lost', piece, {
        text: 'leads from or to a pattern, which has no counterpart: an alias such as eu/* leads to openai/*',
      });
      continue;
    }
    const inner = translator.draft.aliases.find((alias) => foldCase(alias.source) === foldCase(literal(group.name)));
    const model = inner?.source ?? group.deployments.find((each) => !each.model.includes('*'))?.selector;
    if (model === undefined) {
      note(translator, 'lost', piece, { text: unknownGroup });
      continue;
    }
    const strategy = inner?.strategy;
    // The name of its deployment leads there by itself.
    if (foldCase(model) === foldCase(source)) continue;
    translator.draft.aliases.push({ source, targets: [{ model }], strategy });
  }
}

function noteFallbacks(translator: Translator, groups: ReadonlyMap<string, Group>, routing: Routing): void {
  for (const { key, names, piece } of routing.named) {
    if (key !== '*' && !groups.has(key))
      note(translator, 'lost', piece, { text: 'is of a name that is no model_name of its own: write an alias for it' });
    if (names.some((name) => groupOf(name, groups, routing) === undefined))
      note(translator, 'lost', piece, { text: `${unknownGroup}, and was left out of the fallbacks` });
  }
}

const unknownGroup = 'leads to a model group that is not in model_list, or that could not be taken over';

/** The group of a name, which may be one of `model_group_alias`. */
function groupOf(name: string, groups: ReadonlyMap<string, Group>, { renamed }: Routing): Group | undefined {
  const target = renamed.find((each) => each.name === name)?.target;
  return groups.get(foldCase(name)) ?? groups.get(foldCase(target ?? ''));
}

function noteSpellings(translator: Translator, groups: ReadonlyMap<string, Group>): void {
  for (const { name, deployments } of groups.values()) {
    const other = deployments.find(({ group }) => group !== name);
    if (other !== undefined)
      note(translator, 'decide', other.piece, {
        text: 'differs from another model_name only in letter case, which does not count here: both are one alias',
      });
  }
}

interface Around {
  readonly key: string;
  readonly groups: ReadonlyMap<string, Group>;
  readonly routing: Routing;
  readonly deployments: readonly Deployment[];
}

function addGroup(translator: Translator, group: Group, around: Around): void {
  if (group.name.includes('*')) addFamily(translator, group);
  else addModelAlias(translator, group, around);
}

function addModelAlias(translator: Translator, { name, deployments }: Group, around: Around): void {
  const { draft } = translator;
  const { routing, key } = around;
  const [first, later] = levels(deployments.filter(({ model }) => !model.includes('*')));
  const chosen = weighted(first, routing.strategy === undefined);
  const behind = [...later, ...fallbacksOf(around)].map(({ selector }) => selector);
  noteWeights(translator, first, chosen);
  const firsts = new Set(chosen.map(({ model }) => model));
  const others = [...new Set(behind)].filter((selector) => !firsts.has(selector));
  const [only] = chosen;
  const [piece] = deployments;
  if (only === undefined) {
    if (piece !== undefined)
      note(translator, 'lost', piece.piece, {
        text: 'leads to a pattern, and its name is one of a model: ask for a model of its provider',
      });
    return;
  }
  const source = literal(name);
  const retry = routing.retry(others.length, mostAttempts);
  if (chosen.length === 1 && others.length === 0 && retry === undefined && leadsThere(around, deployments, source))
    return;
  const strategy = chosen.length === 1 ? undefined : routing.strategy;
  const alias: DraftAlias = { source, targets: [], strategy, retry };
  if (others.length === 0) alias.targets.push(...chosen);
  else {
    alias.strategy = 'failover';
    const pool: DraftAlias | undefined =
      chosen.length === 1 ? undefined : { source: poolName(around, source), targets: chosen, strategy };
    if (pool !== undefined) draft.aliases.push(pool);
    alias.targets.push({ model: pool?.source ?? only.model }, ...others.map((model) => ({ model })));
  }
  draft.aliases.push(alias);
  const long = routing.forLength.get(key);
  if (long !== undefined) note(translator, 'decide', long, { about: alias, text: behindAll });
  const most = Math.max(alias.targets.length, chosen.length);
  if (most <= mostTargets || piece === undefined) return;
  alias.targets.splice(mostTargets);
  chosen.splice(mostTargets);
  note(translator, 'lost', piece.piece, {
    about: alias,
    text: `has ${most} targets; an alias has at most ${mostTargets}, the others were left out`,
  });
}

const behindAll =
  'stand behind the other targets: they are asked after every failure, a prompt that is too long (context_length) included';

/** Whether the name already means the deployment: as its selector, or as the id of a model that no other provider has. */
function leadsThere({ deployments }: Around, [only]: readonly Deployment[], source: string): boolean {
  if (only === undefined) return false;
  if (source === only.selector) return true;
  const others = deployments.filter(({ provider, model }) => provider !== only.provider && model === source);
  const isAsked = deployments.some(({ provider }) => isDiscovering(provider));
  return source === only.model && others.length === 0 && !isAsked;
}

function poolName({ groups }: Around, source: string): string {
  for (let count = 1; ; count += 1) {
    const name = `${source.slice(0, longestName - 10)}-first${count === 1 ? '' : count}`;
    if (!groups.has(foldCase(name))) return name;
  }
}

/** The deployments that are asked first, and the others in their order: a lower `order` comes first. */
function levels(deployments: readonly Deployment[]): [Deployment[], Deployment[]] {
  const orderOf = ({ order }: Deployment): number => order ?? Number.MAX_SAFE_INTEGER;
  const sorted = [...deployments].sort((a, b) => orderOf(a) - orderOf(b));
  const least = sorted[0] === undefined ? 0 : orderOf(sorted[0]);
  return [sorted.filter((each) => orderOf(each) === least), sorted.filter((each) => orderOf(each) !== least)];
}

/**
 * Shares as whole numbers: by `weight`, else by `rpm`, else by `tpm`, as LiteLLM draws. A deployment without the figure gets the least share, one
 * with a weight of 0 is never drawn.
 */
function weighted(deployments: readonly Deployment[], isByWeight: boolean): DraftAlias['targets'] {
  const figure = (['weight', 'rpm', 'tpm'] as const).find((name) => deployments.some((each) => (each[name] ?? 0) > 0));
  const given = figure === undefined ? [] : deployments.flatMap((each) => (each[figure] ?? 0) || []);
  const least = given.length === 0 ? 1 : Math.min(...given);
  const shares = new Map<string, number>();
  for (const each of deployments) {
    const share = figure === undefined ? 1 : (each[figure] ?? least);
    if (each.weight !== 0 || figure !== 'weight')
      shares.set(each.selector, (shares.get(each.selector) ?? 0) + Math.max(share, 0));
  }
  const drawn = [...shares].filter(([, share]) => share > 0);
  const weights = wholeShares(drawn.map(([, share]) => share));
  const areEqual = !isByWeight || weights.every((weight) => weight === weights[0]);
  return drawn.map(([model], index) => ({ model, ...(areEqual ? {} : { weight: weights[index] ?? 1 }) }));
}

/** LiteLLM draws a deployment of weight 0 never, and one without a weight neither where others have one. */
function noteWeights(translator: Translator, all: readonly Deployment[], chosen: DraftAlias['targets']): void {
  const areWeighted = all.some(({ weight }) => weight !== undefined);
  for (const { piece, weight, selector } of areWeighted ? all : []) {
    const isTarget = chosen.some(({ model }) => model === selector);
    if (!isTarget)
      note(translator, 'decide', piece, {
        text: 'has a weight of 0: it is a model of its provider, and no target of the alias',
      });
    else if (weight === undefined)
      note(translator, 'decide', piece, {
        text: 'has no weight beside others that have one: it gets the least of them',
      });
  }
}

/** Deployments of the groups that a group falls back to. Theirs do not follow: no alias can lead back to itself. */
function fallbacksOf({ key, groups, routing }: Around): Deployment[] {
  const ofAll = [...(routing.fallbacks.get('*') ?? []), ...routing.defaults];
  const names = routing.fallbacks.get(key) ?? ofAll.filter((name) => foldCase(name) !== key);
  return names.flatMap((name) => {
    const { deployments = [] } = groupOf(name, groups, routing) ?? {};
    const [first, later] = levels(deployments.filter(({ model }) => !model.includes('*')));
    return [...first, ...later];
  });
}

/** `claude/*` stands for all models of its targets; one that is the name of its provider needs no alias. */
function addFamily(translator: Translator, { name, deployments }: Group): void {
  const [first] = deployments;
  if (first === undefined) return;
  const [, prefix] = /^([^/*]+)\/[^/]*\*$/.exec(name) ?? [];
  const all = new Set(deployments.map(({ selector }) => selector));
  if (deployments.some(({ model }) => !model.includes('*'))) {
    note(translator, 'lost', first.piece, {
      text: 'names many models by a pattern and leads to one: list the names as aliases',
    });
  } else if (prefix === undefined) {
    if (name !== '*' && deployments.every(({ model }) => model !== name))
      note(translator, 'decide', first.piece, {
        text: 'is a pattern without a prefix: clients ask for the models of its provider by their ids',
      });
  } else if (all.size > 1 || !all.has(`${prefix}/*`)) {
    translator.draft.aliases.push({ source: `${literal(prefix)}/*`, targets: [...all].map((model) => ({ model })) });
  }
}
