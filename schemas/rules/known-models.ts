// What the configuration offers, as far as rules speak of it: the providers, the models they list, and the aliases.
import { foldCase, isQualified } from '../selector.ts';
import type { Alias, Provider } from '../types.ts';

/** All names folded, as subjects are compared. */
export interface KnownModels {
  /** Those that are left out included. */
  readonly providers: ReadonlySet<string>;
  /** Providers whose key expands to nothing; what they list is not known. */
  readonly leftOut: ReadonlySet<string>;
  /** Both as `<provider>/<model>` and as bare ids, but for ids that read like a model of a provider. */
  readonly models: ReadonlySet<string>;
  readonly aliases: ReadonlySet<string>;
}

/** As much of an assembled configuration as this needs. */
export interface Offer {
  readonly providers: { readonly [name: string]: Pick<Provider, 'models'> };
  readonly aliases: readonly Pick<Alias, 'source'>[];
  /** Every provider as declared, in order; absent: those of `providers`. */
  readonly providerNames?: readonly string[];
}

/** Nothing is offered. */
export const nothingKnown: KnownModels = {
  providers: new Set(),
  leftOut: new Set(),
  models: new Set(),
  aliases: new Set(),
};

/** The names that a configuration gives a meaning to. */
export function knownModels({ providers, aliases, providerNames }: Offer): KnownModels {
  const names = providerNames ?? Object.keys(providers);
  const folded = new Set(names.map(foldCase));
  const models = new Set<string>();
  for (const [name, { models: listed }] of Object.entries(providers)) {
    for (const model of listed) {
      models.add(foldCase(`${name}/${model}`));
      if (!isQualified(model, folded)) models.add(foldCase(model));
    }
  }
  return {
    providers: folded,
    leftOut: new Set(names.filter((name) => !Object.hasOwn(providers, name)).map(foldCase)),
    models,
    aliases: new Set(aliases.map(({ source }) => foldCase(source))),
  };
}
