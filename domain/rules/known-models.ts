// The names that rules may refer to: providers, the models they list, and aliases.

import type { Alias, Provider } from '../../schemas/types.ts';
import { isDiscovering, modelIds } from '../listed-models.ts';
import { foldCase, isQualified } from '../selector.ts';

/** All names in lower case, because subjects are compared in lower case. */
export interface KnownModels {
  /** All providers, including those that are left out. */
  readonly providers: ReadonlySet<string>;
  /** Providers with a key that expands to an empty text; their models are not known. */
  readonly leftOut: ReadonlySet<string>;
  /** Providers that are asked for their models; those are not among `models`. */
  readonly discovering: ReadonlySet<string>;
  /** Models as `<provider>/<model>` and as bare ids, without bare ids that look like a model of a provider. */
  readonly models: ReadonlySet<string>;
  readonly aliases: ReadonlySet<string>;
}

/** The part of an assembled configuration that this needs. */
export interface Offer {
  readonly providers: { readonly [name: string]: Pick<Provider, 'models'> };
  readonly aliases: readonly Pick<Alias, 'source'>[];
  /** The names of all declared providers, in order; absent: the names in `providers`. */
  readonly providerNames?: readonly string[];
}

/** No names. */
export const nothingKnown: KnownModels = {
  providers: new Set(),
  leftOut: new Set(),
  discovering: new Set(),
  models: new Set(),
  aliases: new Set(),
};

/** The names that a configuration declares. */
export function knownModels({ providers, aliases, providerNames }: Offer): KnownModels {
  const names = providerNames ?? Object.keys(providers);
  const folded = new Set(names.map(foldCase));
  const models = new Set<string>();
  const discovering = Object.entries(providers).filter(([, provider]) => isDiscovering(provider));
  for (const [name, provider] of Object.entries(providers)) {
    for (const model of modelIds(provider)) {
      models.add(foldCase(`${name}/${model}`));
      if (!isQualified(model, folded)) models.add(foldCase(model));
    }
  }
  return {
    providers: folded,
    leftOut: new Set(names.filter((name) => !Object.hasOwn(providers, name)).map(foldCase)),
    discovering: new Set(discovering.map(([name]) => foldCase(name))),
    models,
    aliases: new Set(aliases.map(({ source }) => foldCase(source))),
  };
}

/** Whether a provider that is asked for its models may have this one: a qualified name, or a bare id that is no alias. In lower case. */
export function mayBeDiscovered(subject: string, { discovering, providers, aliases }: KnownModels): boolean {
  if (isQualified(subject, providers)) return isQualified(subject, discovering);
  return discovering.size > 0 && !aliases.has(subject);
}
