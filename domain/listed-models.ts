// The models of a provider: those in the configuration, each an id or an id with its price, or those that the provider lists.
import type { Model, Pricing, Provider } from '../schemas/types.ts';

/** The id of an entry of `models`. */
export function modelId(model: Model): string {
  return typeof model === 'string' ? model : model.id;
}

/**
 * The model ids that a provider reported, by the name of the provider; only for providers without `models` in the
 * configuration.
 */
export type Inventories = ReadonlyMap<string, readonly string[]>;

/** Whether the gateway asks a provider for its models, because the configuration lists none. */
export function isDiscovering({ models }: Pick<Provider, 'models'>): boolean {
  return models === undefined;
}

/** The ids of all models that the configuration lists for a provider, in order. */
export function modelIds({ models = [] }: Pick<Provider, 'models'>): string[] {
  return models.map(modelId);
}

/** The price of an entry of `models`; undefined when it has none. */
export function pricingOf(model: Model): Pricing | undefined {
  return typeof model === 'string' ? undefined : model.pricing;
}
