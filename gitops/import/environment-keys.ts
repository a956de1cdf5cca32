// Makes providers of the keys that are in the environment: by reference, never by value.
import {
  defaultAddresses,
  exampleAddresses,
  type ProviderType,
  typesWithoutModelList,
} from '../../schemas/provider-addresses.ts';
import type { Variables } from '../../schemas/variables.ts';
import { variableAddress } from './address.ts';
import { type Draft, type DraftProvider, emptyDraft, type ProviderTraits } from './draft.ts';
import { openBook } from './provider-book.ts';
import { cloudVariables, providerVariables } from './provider-variables.ts';
import { vertexAddress } from './traits.ts';

/** A provider for each type whose key, or whose address, is in the environment. Empty variables count as unset. */
export function translateEnvironment(environment: Variables): Draft {
  const draft = emptyDraft();
  const find = openBook(draft);
  const first = (names: readonly string[]): string | undefined => {
    const name = names.find((each) => environment[each] !== undefined && environment[each] !== '');
    if (name !== undefined) draft.variables.set(name, { where: 'is set', isWrittenOut: false });
    return name;
  };
  for (const type of Object.keys(providerVariables) as ProviderType[]) {
    const traits = traitsOf(type, first);
    if (traits === undefined) continue;
    const provider = find(traits, '');
    if (typesWithoutModelList.has(type)) needModels(draft, provider);
    else provider.patterns.add('*');
  }
  return draft;
}

type First = (names: readonly string[]) => string | undefined;

/** Undefined: the environment has nothing of this type. */
function traitsOf(type: ProviderType, first: First): ProviderTraits | undefined {
  if (type === 'bedrock') return ofBedrock(first);
  if (type === 'vertex') return ofVertex(first);
  const { keys, addresses } = providerVariables[type];
  const key = first(keys);
  // An address alone is one of a server that people run themselves.
  if (key === undefined && !['ollama', 'vllm'].includes(type)) return undefined;
  const address = first(addresses);
  if (key === undefined && address === undefined) return undefined;
  const api_key = key === undefined ? undefined : `\${${key}}`;
  if (type === 'azure') {
    const version = address === undefined ? undefined : first(cloudVariables.azureVersions);
    const query = version === undefined ? '/openai/v1' : `?api-version=\${${version}}`;
    return { type, base_url: address === undefined ? exampleAddresses.azure : `\${${address}}${query}`, api_key };
  }
  return {
    type,
    base_url: address === undefined ? undefined : variableAddress(type, `\${${address}}`).base_url,
    api_key,
  };
}

function ofBedrock(first: First): ProviderTraits | undefined {
  const { awsId, awsSecret, awsToken, awsRegions } = cloudVariables;
  const single = first(providerVariables.bedrock.keys);
  const pair = single === undefined ? [first([awsId]), first([awsSecret])] : [];
  if (single === undefined && pair.some((name) => name === undefined)) return undefined;
  const token = single === undefined ? first([awsToken]) : undefined;
  const names = single === undefined ? [...pair, ...(token === undefined ? [] : [token])] : [single];
  const region = first(awsRegions);
  return {
    type: 'bedrock',
    base_url: `https://bedrock-runtime.${region === undefined ? 'us-east-1' : `\${${region}}`}.amazonaws.com`,
    api_key: names.map((name) => `\${${name}}`).join(':'),
  };
}

function ofVertex(first: First): ProviderTraits | undefined {
  const token = first(providerVariables.vertex.keys);
  if (token === undefined) return undefined;
  const project = first(cloudVariables.vertexProjects);
  const location = first(cloudVariables.vertexLocations);
  const { base_url } = vertexAddress(
    project === undefined ? 'my-project' : `\${${project}}`,
    location === undefined ? 'us-central1' : `\${${location}}`,
  );
  return { type: 'vertex', base_url, api_key: `\${${token}}` };
}

/** These types have no list of models: one stands for those to come, so that the file loads. */
function needModels(draft: Draft, provider: DraftProvider): void {
  provider.models.set('REPLACE-ME', { id: 'REPLACE-ME' });
  const { type, base_url = defaultAddresses[type] } = provider.traits;
  const example = base_url?.includes('my-') === true ? '; write your own address, too' : '';
  const text = `has no list of models: write the names of yours in place of REPLACE-ME${example}`;
  draft.notes.push({ kind: 'decide', about: provider, where: type, what: '', text });
}
