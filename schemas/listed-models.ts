// The models that a provider lists: an id, or an id with its price.
import type { Model, Pricing, Provider } from './types.ts';

/** The id of an entry of `models`. */
export function modelId(model: Model): string {
  return typeof model === 'string' ? model : model.id;
}

/** The ids of all models of a provider, in order. */
export function modelIds({ models }: Pick<Provider, 'models'>): string[] {
  return models.map(modelId);
}

/** The price of an entry of `models`; undefined when it has none. */
export function pricingOf(model: Model): Pricing | undefined {
  return typeof model === 'string' ? undefined : model.pricing;
}
