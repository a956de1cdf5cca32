// Names of models → what their routes are made of.

import { createFlattener } from '../../domain/aliases/flatten.ts';
import { mostFamilyNames } from '../../domain/aliases/mistakes.ts';
import { type ModelOffer, modelNames } from '../../domain/aliases/model-names.ts';
import { familyPrefix, NameTable } from '../../domain/aliases/name-table.ts';
import { modelId } from '../../domain/listed-models.ts';
import { factsIn, type ModelFacts } from '../../domain/models/model-facts.ts';
import { priceOf } from '../../domain/prices/price.ts';
import { pricingIn } from '../../domain/prices/price-book.ts';
import { foldCase } from '../../domain/selector.ts';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import type { Alias, Model, Pricing, Provider } from '../../schemas/types.ts';
import { type FamilyRoutes, type NamedRoute, plainRoute, RouteTable } from './route-table.ts';
import type { Route, Routes, Snapshot, Target, Upstream } from './snapshot.ts';

/** The parts of a config that names are made of. */
export type OfferedConfig = ModelOffer & Pick<AssembledConfig, 'aliases' | 'providers' | 'usage'>;

/** The routes of all names, those of families included. An alias that is not enabled has no route, and none that leads nowhere. */
export function compileRoutes(
  config: OfferedConfig,
  upstreams: readonly Upstream[],
): Pick<Snapshot, 'routes' | 'moderation' | 'hidesAliases'> {
  const inventories = config.inventories ?? new Map();
  const targets = compileTargets({ ...config, inventories }, upstreams);
  const names = modelNames({ ...config, inventories });
  const enabled = config.aliases.filter((alias) => alias.enabled);
  const table = new NameTable(enabled, names);
  const flatten = createFlattener(table);
  const aliases = new Map<string, NamedRoute>();
  for (const alias of enabled) {
    const flattened = familyPrefix(alias.source) === undefined ? flatten(alias) : undefined;
    const flattenWhere: NamedRoute['flattenWhere'] = (isOn) => createFlattener(table, isOn)(alias);
    if (flattened !== undefined) aliases.set(foldCase(alias.source), { alias, flattened, flattenWhere });
  }
  const families = familiesOf(enabled, table, flatten);
  const hidesAliases = enabled.some((alias) => alias.user_paths !== undefined);
  const moderation = moderationRoute(upstreams, targets, config);
  return { routes: new RouteTable({ targets, names, aliases, families }), moderation, hidesAliases };
}

function familiesOf(
  enabled: readonly Alias[],
  table: NameTable,
  flatten: ReturnType<typeof createFlattener>,
): ReadonlyMap<string, FamilyRoutes> {
  const settings = new Map<unknown, Alias>(enabled.map((alias) => [alias, alias]));
  const flattenName: FamilyRoutes['flatten'] = (name, isOn) => {
    const member = table.memberOf(name);
    return member && (isOn === undefined ? flatten(member) : createFlattener(table, isOn)(member));
  };
  const families = new Map<string, FamilyRoutes>();
  let room = mostFamilyNames;
  for (const { family, models } of table.families()) {
    const alias = settings.get(family);
    if (alias === undefined) continue;
    // Names of discovered models could not be counted when the configuration was checked.
    const counted = models.size <= room ? models : new Set([...models].slice(0, room));
    room -= counted.size;
    families.set(foldCase(familyPrefix(alias.source) ?? ''), { alias, models: counted, flatten: flattenName });
  }
  return families;
}

function compileTargets(
  { providers, inventories, usage }: OfferedConfig,
  upstreams: readonly Upstream[],
): Routes['targets'] {
  const targets = new Map<string, ReadonlyMap<string, Target>>();
  for (const upstream of upstreams) {
    const provider = providers[upstream.name];
    if (provider === undefined) continue;
    const models = new Map<string, Target>();
    for (const model of provider.models ?? inventories?.get(upstream.name) ?? [])
      models.set(modelId(model), new ListedTarget(upstream, { provider, model }, pricingIn(provider, model, usage)));
    targets.set(upstream.name, models);
  }
  return targets;
}

/** A model in the list of its provider. */
interface Listed {
  readonly provider: Pick<Provider, 'type' | 'base_url'> | undefined;
  readonly model: Model;
}

/** Most models of a long list are never asked: how one is asked, is worked out at its first request. */
class ListedTarget implements Target {
  readonly upstream: Upstream;
  readonly model: string;
  readonly price: Target['price'];
  readonly #listed: Listed;
  #facts: ModelFacts | undefined;
  #modelJson: Buffer | undefined;
  #speeches: Target['speeches'] | undefined;

  constructor(upstream: Upstream, listed: Listed, pricing: Pricing | undefined) {
    this.upstream = upstream;
    this.model = modelId(listed.model);
    this.#listed = listed;
    this.price = pricing && priceOf(pricing);
    Object.freeze(this);
  }

  get facts(): ModelFacts | undefined {
    const { provider, model } = this.#listed;
    this.#facts ??= provider && factsIn(provider, model);
    return this.#facts;
  }

  get modelJson(): Buffer {
    this.#modelJson ??= Buffer.from(JSON.stringify(this.model));
    return this.#modelJson;
  }

  get speeches(): Target['speeches'] {
    this.#speeches ??= this.upstream.speechesOf(this.model);
    return this.#speeches;
  }
}

/** OpenAI's model for a moderation that names none ("Create moderation" in its reference). */
export const moderationModel = 'omni-moderation-latest';

/** The providers that know this model, although their lists need not name it. */
function moderationRoute(
  upstreams: readonly Upstream[],
  targets: Routes['targets'],
  { providers, usage }: OfferedConfig,
): Route | undefined {
  const able = upstreams.filter(
    ({ type, mediaOf }) => type === 'openai' && mediaOf('moderations', moderationModel) !== undefined,
  );
  if (able.length === 0) return undefined;
  const asked = able.map((upstream) => {
    const provider = providers[upstream.name];
    const pricing = provider && pricingIn(provider, moderationModel, usage);
    const listed = { provider, model: moderationModel };
    return targets.get(upstream.name)?.get(moderationModel) ?? new ListedTarget(upstream, listed, pricing);
  });
  return plainRoute(moderationModel, asked, false);
}
