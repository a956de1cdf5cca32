// Finds the facts of a model: those of the configuration, else those of the catalogue.

import { defaultAddresses } from '../../schemas/provider-addresses.ts';
import type { Model, Provider } from '../../schemas/types.ts';
import { modelId } from '../listed-models.ts';
import catalogue from './model-catalogue.json' with { type: 'json' };

/** What is known of a model besides its price; what is absent is not known. */
export type ModelFacts = Readonly<Omit<Exclude<Model, string>, 'id' | 'pricing'>>;

/** Models of one provider type that have the same facts. */
export type FactsGroup = ModelFacts & { readonly ids: readonly string[] };

/** `model-catalogue.json`. */
export interface Catalogue {
  /** Of the day on which its sources were read, YYYY-MM-DD. */
  readonly date: string;
  readonly source: string;
  /** By provider type. */
  readonly models: Readonly<Record<string, readonly FactsGroup[]>>;
}

/** The catalogue of this version. */
export const modelCatalogue = catalogue as Catalogue;

/** Provider types with one address per customer: the end of the names of their hosts. */
const vendorDomains: Readonly<Partial<Record<Provider['type'], string>>> = {
  azure: 'azure.com',
  bedrock: 'amazonaws.com',
};
/** The end of the id of a dated snapshot. */
const date = /-(?:\d{4}-\d{2}-\d{2}|\d{8})$/;
const nothing: ModelFacts = Object.freeze({});

let byType: ReadonlyMap<string, ReadonlyMap<string, ModelFacts>> | undefined;

/** The facts of an entry of `models` of this provider: each that the entry says, else that of the catalogue. Frozen. */
export function factsIn(provider: Pick<Provider, 'type' | 'base_url'>, model: Model): ModelFacts {
  const listed = isOfVendor(provider) ? listedFacts(provider.type, modelId(model)) : undefined;
  if (typeof model === 'string') return listed ?? nothing;
  const { id: _id, pricing: _pricing, ...said } = model;
  return Object.freeze({ ...listed, ...said });
}

/** The facts in the catalogue; those of a dated snapshot that it does not name are those of the model it is one of. */
export function listedFacts(type: string, id: string): ModelFacts | undefined {
  byType ??= new Map(Object.entries(modelCatalogue.models).map(([each, groups]) => [each, factsById(groups)]));
  const ofType = byType.get(type);
  return ofType?.get(id) ?? ofType?.get(id.replace(date, ''));
}

/** The facts of each model of a type. */
export function factsById(groups: readonly FactsGroup[]): ReadonlyMap<string, ModelFacts> {
  const found = new Map<string, ModelFacts>();
  for (const { ids, ...facts } of groups) {
    Object.freeze(facts);
    for (const id of ids) found.set(id, facts);
  }
  return found;
}

/** At an address of another party, a model of the same name may be another one. */
function isOfVendor({ type, base_url: address }: Pick<Provider, 'type' | 'base_url'>): boolean {
  const usual = defaultAddresses[type];
  const domain = vendorDomains[type] ?? (usual && new URL(usual).hostname.split('.').slice(-2).join('.'));
  const host = address === undefined ? undefined : URL.parse(address)?.hostname;
  return domain !== undefined && host !== undefined && (host === domain || host.endsWith(`.${domain}`));
}
