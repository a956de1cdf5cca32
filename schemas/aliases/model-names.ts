// The names under which the models of providers are asked for: qualified ones, and bare ids. Pure.
import { modelIds } from '../listed-models.ts';
import { foldCase, isQualified } from '../selector.ts';
import type { Provider } from '../types.ts';

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
}

/** The part of a configuration that this needs. */
export interface ModelOffer {
  readonly providers: { readonly [name: string]: Pick<Provider, 'models'> };
  /** All providers in order, those that are left out included; absent: those in `providers`. */
  readonly providerNames?: readonly string[];
}

/** The names of all models; those of providers that are left out are not among them. */
export function modelNames({ providers, providerNames = Object.keys(providers) }: ModelOffer): ModelNames {
  const known = new Set(providerNames.map(foldCase));
  const offered = new Map<string, ReadonlySet<string>>();
  const bare = new Map<string, ModelTarget[]>();
  for (const name of providerNames) {
    const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
    if (provider === undefined) continue;
    const models = new Set(modelIds(provider));
    offered.set(name, models);
    for (const model of models) {
      if (isQualified(model, known)) continue;
      const sharing = bare.get(model);
      if (sharing === undefined) bare.set(model, [{ provider: name, model }]);
      else sharing.push({ provider: name, model });
    }
  }
  return { offered, bare };
}
