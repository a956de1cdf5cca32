// The names by which clients ask for the models of providers: qualified names, and bare ids. Pure.

import type { Provider } from '../../schemas/types.ts';
import { type Inventories, isDiscovering, modelIds } from '../listed-models.ts';
import { foldCase, isQualified } from '../selector.ts';

/** One model at one provider. */
export interface ModelTarget {
  readonly provider: string;
  readonly model: string;
}

/** The models that can be asked for. */
export interface ModelNames {
  /** By provider, in order: its models. */
  readonly offered: ReadonlyMap<string, ReadonlySet<string>>;
  /** By bare id: every provider that lists it, in order. An id `a/b` is no bare id where a provider `a` is configured. */
  readonly bare: ReadonlyMap<string, readonly ModelTarget[]>;
  /**
   * The models by their name in lower case, for a request in another letter case. Of names that differ only in case the
   * first listed one counts.
   */
  readonly folded: {
    readonly qualified: ReadonlyMap<string, ModelTarget>;
    readonly bare: ReadonlyMap<string, readonly ModelTarget[]>;
  };
  /** The providers that are asked for their models; they may gain models at any time. */
  readonly discovering: ReadonlySet<string>;
  /** Whether the models that these providers reported are included; false where they are not known. */
  readonly isDiscovered: boolean;
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
  const known = new Set(providerNames.map(foldCase));
  const offered = new Map<string, ReadonlySet<string>>();
  const bare = new Map<string, ModelTarget[]>();
  for (const name of providerNames) {
    const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
    if (provider === undefined) continue;
    if (isDiscovering(provider)) discovering.add(name);
    const models = new Set(isDiscovering(provider) ? inventories?.get(name) : modelIds(provider));
    offered.set(name, models);
    for (const model of models) {
      if (isQualified(model, known)) continue;
      const sharing = bare.get(model);
      if (sharing === undefined) bare.set(model, [{ provider: name, model }]);
      else sharing.push({ provider: name, model });
    }
  }
  return { offered, bare, folded: foldedNames(offered, bare), discovering, isDiscovered: inventories !== undefined };
}

function foldedNames(offered: ModelNames['offered'], bare: ModelNames['bare']): ModelNames['folded'] {
  const qualified = new Map<string, ModelTarget>();
  for (const [provider, models] of offered) {
    for (const model of models) addFirst(qualified, foldCase(`${provider}/${model}`), { provider, model });
  }
  const foldedBare = new Map<string, readonly ModelTarget[]>();
  for (const [id, targets] of bare) addFirst(foldedBare, foldCase(id), targets);
  return { qualified, bare: foldedBare };
}

function addFirst<Value>(to: Map<string, Value>, key: string, value: Value): void {
  if (!to.has(key)) to.set(key, value);
}
