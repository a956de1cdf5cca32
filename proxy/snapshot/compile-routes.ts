// Names of models → routes: qualified names, bare ids, names of families, aliases. A later kind wins over an earlier one.

import { createFlattener, type Flattened, weightsOf } from '../../domain/aliases/flatten.ts';
import { mostFamilyNames } from '../../domain/aliases/mistakes.ts';
import { type ModelOffer, modelNames } from '../../domain/aliases/model-names.ts';
import { familyPrefix, NameTable } from '../../domain/aliases/name-table.ts';
import { modelId } from '../../domain/listed-models.ts';
import { priceOf } from '../../domain/prices/price.ts';
import { pricingIn } from '../../domain/prices/price-book.ts';
import { foldCase } from '../../domain/selector.ts';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import type { Alias, Model, Pricing } from '../../schemas/types.ts';
import { compileRetryPolicy, defaultRetryPolicy } from './retry-policy.ts';
import type { ModelEntry, Route, Snapshot, Target, Upstream } from './snapshot.ts';

/** `<provider>/<model>` → the one target of that model. */
type Targets = ReadonlyMap<string, Target>;

/** What names are made of. */
export type OfferedConfig = ModelOffer & Pick<AssembledConfig, 'aliases' | 'providers' | 'usage'>;

/**
 * The routes of all names, one map, so that a request looks its name up once. A name of a family is in it, too. An alias that is not
 * enabled has no route, and none that leads nowhere.
 */
export function compileRoutes(
  config: OfferedConfig,
  upstreams: readonly Upstream[],
): Pick<Snapshot, 'routes' | 'foldedRoutes' | 'moderation' | 'models' | 'hidesAliases'> {
  const inventories = config.inventories ?? new Map();
  const targets = compileTargets({ ...config, inventories }, upstreams);
  const models = modelNames({ ...config, inventories });
  const routes = new RouteTable();
  for (const [name, target] of targets) routes.add(name, plain(name, [target], true));
  // A qualified name is no bare id, so nothing is replaced here.
  for (const [id, sharing] of models.bare) routes.add(id, plain(id, targetsOf(sharing, targets), false));

  const enabled = config.aliases.filter((alias) => alias.enabled);
  const settings = new Map<unknown, Alias>(enabled.map((alias) => [alias, alias]));
  const table = new NameTable(enabled, models);
  const flatten = createFlattener(table);
  const add = (name: string, alias: Alias, flattened: Flattened | undefined): void => {
    if (flattened !== undefined)
      routes.cover(name, (behind) => compileAlias(name, alias, { flattened, targets, behind }));
  };
  let room = mostFamilyNames;
  for (const { family, names } of table.families()) {
    const alias = settings.get(family);
    if (alias === undefined) continue;
    // Names of discovered models could not be counted when the configuration was checked.
    const counted = names.slice(0, room);
    room -= counted.length;
    for (const name of counted) {
      const member = table.memberOf(name);
      if (member !== undefined) add(name, alias, flatten(member));
    }
  }
  for (const alias of enabled) if (familyPrefix(alias.source) === undefined) add(alias.source, alias, flatten(alias));
  const hidesAliases = enabled.some((alias) => alias.user_paths !== undefined);
  const moderation = moderationRoute(upstreams, targets, config);
  const { exact, folded } = routes;
  return { routes: exact, foldedRoutes: folded, moderation, models: entriesOf(exact), hidesAliases };
}

/** Routes by name, and by the name in lower case for requests that spell it otherwise: the first route of several counts there. */
class RouteTable {
  readonly exact = new Map<string, Route>();
  readonly folded = new Map<string, Route>();
  /** The names in `exact`, by their lower case. */
  readonly #spellings = new Map<string, string[]>();

  add(name: string, route: Route): void {
    const key = foldCase(name);
    if (!this.exact.has(name)) this.#spellings.set(key, [...(this.#spellings.get(key) ?? []), name]);
    this.exact.set(name, route);
    if (!this.folded.has(key)) this.folded.set(key, route);
  }

  /** Adds an alias, which wins over what has its name in any letter case. `routeBefore`: the alias before the route that it covers. */
  cover(name: string, routeBefore: (behind: Route | undefined) => Route): void {
    const key = foldCase(name);
    const route = routeBefore(this.exact.get(name) ?? this.folded.get(key));
    for (const spelling of this.#spellings.get(key) ?? []) {
      const other = routeBefore(this.exact.get(spelling));
      this.exact.set(spelling, Object.freeze({ ...other, isListed: false }));
    }
    this.add(name, route);
    this.folded.set(key, route);
  }
}

function compileTargets({ providers, inventories, usage }: OfferedConfig, upstreams: readonly Upstream[]): Targets {
  const targets = new Map<string, Target>();
  for (const upstream of upstreams) {
    const provider = providers[upstream.name];
    if (provider === undefined) continue;
    for (const model of provider.models ?? inventories?.get(upstream.name) ?? []) {
      const target = compileTarget(upstream, model, pricingIn(provider, model, usage));
      targets.set(`${upstream.name}/${modelId(model)}`, target);
    }
  }
  return targets;
}

function compileTarget(upstream: Upstream, listed: Model, pricing: Pricing | undefined): Target {
  const model = modelId(listed);
  return Object.freeze({
    upstream,
    model,
    modelJson: Buffer.from(JSON.stringify(model)),
    speeches: upstream.speechesOf(model),
    price: pricing && priceOf(pricing),
  });
}

/** What OpenAI asks where a moderation names no model ("Create moderation" in its reference). */
export const moderationModel = 'omni-moderation-latest';

/** The providers that know this model, although their lists need not name it. */
function moderationRoute(
  upstreams: readonly Upstream[],
  targets: Targets,
  { providers, usage }: OfferedConfig,
): Route | undefined {
  const able = upstreams.filter(
    ({ type, mediaOf }) => type === 'openai' && mediaOf('moderations', moderationModel) !== undefined,
  );
  if (able.length === 0) return undefined;
  const asked = able.map((upstream) => {
    const provider = providers[upstream.name];
    const pricing = provider && pricingIn(provider, moderationModel, usage);
    return targets.get(`${upstream.name}/${moderationModel}`) ?? compileTarget(upstream, moderationModel, pricing);
  });
  return plain(moderationModel, asked, false);
}

function targetsOf(
  list: readonly { readonly provider: string; readonly model: string }[],
  targets: Targets,
): readonly Target[] {
  return list.flatMap(({ provider, model }) => targets.get(`${provider}/${model}`) ?? []);
}

/** Without an alias: the targets are tried in this order. */
function plain(name: string, targets: readonly Target[], isListed: boolean): Route {
  return Object.freeze({
    name,
    targets: Object.freeze(targets),
    weights: Object.freeze(targets.map((_, index) => (index === 0 ? 1 : 0))),
    strategy: 'failover',
    policy: defaultRetryPolicy,
    hedge: false,
    userPaths: undefined,
    behind: undefined,
    family: undefined,
    source: name,
    isAlias: false,
    isListed,
  });
}

function compileAlias(
  name: string,
  alias: Alias,
  { flattened, targets, behind }: { flattened: Flattened; targets: Targets; behind: Route | undefined },
): Route {
  const { strategy, leaves } = flattened;
  const weights = weightsOf(flattened);
  const words = leaves.map(({ provider, model }, index) => `${weights[index]} ${provider}/${model}`);
  const userPaths = alias.user_paths === undefined ? undefined : Object.freeze([...alias.user_paths]);
  return Object.freeze({
    name: [name, strategy, ...words].join('\n'),
    targets: Object.freeze(targetsOf(leaves, targets)),
    weights: Object.freeze(weights),
    strategy,
    policy: compileRetryPolicy(alias.retry),
    hedge: alias.hedge,
    userPaths,
    behind: userPaths === undefined ? undefined : behind,
    family: alias.source === name ? undefined : alias.source,
    source: alias.source,
    isAlias: true,
    isListed: true,
  });
}

function entriesOf(routes: ReadonlyMap<string, Route>): readonly ModelEntry[] {
  const entries: ModelEntry[] = [];
  for (const [id, { isListed, targets }] of routes) if (isListed) entries.push(modelEntry(id, targets));
  return Object.freeze(entries.sort((a, b) => (a.id < b.id ? -1 : 1)));
}

/** Owned by the provider of the first target. */
export function modelEntry(id: string, targets: readonly Target[]): ModelEntry {
  return Object.freeze({ id, object: 'model', created: 0, owned_by: targets[0]?.upstream.name ?? '' });
}
