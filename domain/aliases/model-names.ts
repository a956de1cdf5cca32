// The names by which clients ask for the models of providers: qualified names, and bare ids. Pure.

import type { Provider } from '../../schemas/types.ts';
import { type Inventories, isDiscovering, modelIds } from '../listed-models.ts';
import { foldCase, isQualified } from '../selector.ts';

/** One model at one provider. */
export interface ModelTarget {
  readonly provider: string;
  readonly model: string;
}

/**
 * The models that can be asked for. A provider may say that it has thousands, and most names are never asked for: what is looked up by a
 * bare id, or in another letter case, is worked out when it is first needed.
 */
export class ModelNames {
  /** By provider, in order: its models. */
  readonly offered: ReadonlyMap<string, ReadonlySet<string>>;
  /** The providers that are asked for their models; they may gain models at any time. */
  readonly discovering: ReadonlySet<string>;
  /** Whether the models that these providers reported are included; false where they are not known. */
  readonly isDiscovered: boolean;
  /** The names of all configured providers, in lower case. */
  readonly #known: ReadonlySet<string>;
  #bare: ReadonlyMap<string, readonly ModelTarget[]> | undefined;

  constructor(names: Pick<ModelNames, 'offered' | 'discovering' | 'isDiscovered'>, known: ReadonlySet<string>) {
    this.offered = names.offered;
    this.discovering = names.discovering;
    this.isDiscovered = names.isDiscovered;
    this.#known = known;
  }

  /** By bare id: every provider that lists it, in order. An id `a/b` is no bare id where a provider `a` is configured. */
  get bare(): ReadonlyMap<string, readonly ModelTarget[]> {
    this.#bare ??= bareNames(this.offered, this.#known);
    return this.#bare;
  }

  /** The name as it is listed, of one in any letter case: the first model of a provider, else the first bare id; undefined for none. */
  spelling(name: string): string | undefined {
    const key = foldCase(name);
    const slash = key.indexOf('/');
    const prefix = key.slice(0, Math.max(slash, 0));
    if (slash !== -1 && this.#known.has(prefix)) {
      for (const [provider, models] of this.offered) {
        const model = foldCase(provider) === prefix ? foldedIn(models).get(key.slice(slash + 1)) : undefined;
        if (model !== undefined) return `${provider}/${model}`;
      }
      return undefined;
    }
    for (const models of this.offered.values()) {
      const id = foldedIn(models).get(key);
      if (id !== undefined) return id;
    }
    return undefined;
  }
}

/** The part of a configuration that this needs. */
export interface ModelOffer {
  readonly providers: { readonly [name: string]: Pick<Provider, 'models'> };
  /** All providers in order, those that are left out included; absent: those in `providers`. */
  readonly providerNames?: readonly string[];
  /** Absent where the reports of providers are not known. */
  readonly inventories?: Inventories;
}

/** The names of all models; those of providers that are left out are not among them. */
export function modelNames(offer: ModelOffer): ModelNames {
  const { providers, inventories, providerNames = Object.keys(providers) } = offer;
  const discovering = new Set<string>();
  const offered = new Map<string, ReadonlySet<string>>();
  for (const name of providerNames) {
    const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
    if (provider === undefined) continue;
    if (isDiscovering(provider)) discovering.add(name);
    offered.set(name, setOf(isDiscovering(provider) ? (inventories?.get(name) ?? none) : modelIds(provider)));
  }
  const isDiscovered = inventories !== undefined;
  return new ModelNames({ offered, discovering, isDiscovered }, new Set(providerNames.map(foldCase)));
}

const none: readonly string[] = [];

/** By list of ids: a provider that is discovered has the same one until it says another one. */
const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

function setOf(ids: readonly string[]): ReadonlySet<string> {
  let set = sets.get(ids);
  if (set === undefined) {
    set = new Set(ids);
    sets.set(ids, set);
  }
  return set;
}

/** By set of ids: the first of each spelling, by its lower case. */
const foldings = new WeakMap<ReadonlySet<string>, ReadonlyMap<string, string>>();

/** The ids by their lower case; of several, the first one. */
export function foldedIn(ids: ReadonlySet<string>): ReadonlyMap<string, string> {
  let found = foldings.get(ids);
  if (found === undefined) {
    const folded = new Map<string, string>();
    for (const id of ids) {
      const key = foldCase(id);
      if (!folded.has(key)) folded.set(key, id);
    }
    found = folded;
    foldings.set(ids, folded);
  }
  return found;
}

function bareNames(offered: ModelNames['offered'], known: ReadonlySet<string>): ReadonlyMap<string, ModelTarget[]> {
  const bare = new Map<string, ModelTarget[]>();
  for (const [provider, models] of offered) {
    for (const model of models) {
      if (isQualified(model, known)) continue;
      const sharing = bare.get(model);
      if (sharing === undefined) bare.set(model, [{ provider, model }]);
      else sharing.push({ provider, model });
    }
  }
  return bare;
}
