// Finds the price of a model: that of the configuration, else the public list price.

import { defaultAddresses } from '../../schemas/provider-addresses.ts';
import type { Model, Pricing, Provider, Usage } from '../../schemas/types.ts';
import { modelId, pricingOf } from '../listed-models.ts';
import list from './list-prices.json' with { type: 'json' };

/** The type and the address of a provider. */
export type PricedProvider = Pick<Provider, 'type' | 'base_url' | 'auth'>;

/** What a model costs that each client pays by its own subscription. */
const nothing: Pricing = Object.freeze({ input_per_mtok: 0, output_per_mtok: 0 });

/** By type of provider and id of the model; null: a model with a price that is not known. */
type Prices = Readonly<Record<string, Readonly<Record<string, Pricing | null>>>>;

const listPrices: Prices = list.prices;

/** Provider types with one address per customer: the addresses at which the list prices hold. */
const listAddresses: Readonly<Partial<Record<Provider['type'], RegExp>>> = {
  azure: /^https:\/\/[\w-]+\.(?:openai|cognitiveservices|services\.ai)\.azure\.com\//,
  bedrock: /^https:\/\/bedrock-runtime\.us-(?:east-1|west-2)\.amazonaws\.com(?:\/|$)/,
};
/** The end of the id of a dated snapshot. */
const date = /-(?:\d{4}-\d{2}-\d{2}|\d{8})$/;

/**
 * The price of an entry of `models` of this provider: that of the entry, else nothing where each client pays by itself (`auth: client`), else
 * that in `usage.prices`, else the public list price. Undefined: unknown.
 */
export function pricingIn(
  provider: PricedProvider,
  model: Model,
  { prices, list_prices: usesList }: Pick<Usage, 'prices' | 'list_prices'>,
): Pricing | undefined {
  const id = modelId(model);
  if (provider.auth === 'client') return pricingOf(model) ?? nothing;
  const said = pricingOf(model) ?? own(own(prices, provider.type), id);
  return said ?? (usesList && isAtList(provider) ? listPricing(provider.type, id) : undefined);
}

/**
 * The public list price of a model. A dated snapshot that the list does not name has the price of the model it is one of, when the list
 * names that: providers price all of them alike as a rule, and the list names the exceptions.
 */
export function listPricing(type: Provider['type'], id: string): Pricing | undefined {
  const ofType = own(listPrices, type);
  const found = own(ofType, id);
  return (found === undefined ? own(ofType, id.replace(date, '')) : found) ?? undefined;
}

/**
 * Whether list prices apply: at another address than that of its type, another seller may ask another price for a model
 * of the same name.
 */
function isAtList({ type, base_url: address }: PricedProvider): boolean {
  return listAddresses[type]?.test(address) ?? address === defaultAddresses[type];
}

/** The own member of an object from a file: `constructor` and the like are not members. */
function own<Value>(object: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
}
