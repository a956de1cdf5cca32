// Reads a target of Portkey that names a provider: it becomes a provider, and with a model a selector.
import { type ProviderType, typesWithoutModelList } from '../../../schemas/provider-addresses.ts';
import type { Address } from '../address.ts';
import { type DraftProvider, literal, noCounterpart, note, type ProviderTraits } from '../draft.ts';
import { isOneModel, longestId } from '../names.ts';
import { addModel, type FindProvider } from '../provider-book.ts';
import { cloudVariables, keyVariable } from '../provider-variables.ts';
import type { Piece, TreePiece } from '../source.ts';
import {
  addressPart,
  duration,
  implied,
  readAddress,
  readKey,
  type Translator,
  tokenOfGoogle,
  vertexAddress,
} from '../traits.ts';
import { guessedType, typeOf } from './provider-kinds.ts';

export interface Portkey extends Translator {
  readonly find: FindProvider;
  /** The variables of virtual keys, by their names. */
  readonly keys: Map<string, string>;
}

/** What a target inherits from the levels above it. */
export interface Inherited {
  readonly timeoutMs: number | undefined;
}

/** A place that a level leads to: a selector, an alias, or a family of models that clients name. */
export interface Place {
  readonly name: string;
  readonly isFamily: boolean;
}

/** A level of the tree, the name of the alias that it gets, and what it inherits. */
export interface Level {
  readonly node: TreePiece;
  readonly name: string;
  readonly inherited: Inherited;
}

/** A selector, or all models of a provider, which clients name themselves. */
export interface Leaf {
  readonly provider: DraftProvider;
  readonly selector: string;
  readonly isFamily: boolean;
}

/** The name of a member, which may be written in camel case. */
export function spelled({ value }: TreePiece, name: string): string {
  const camel = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.hasOwn(value, camel) && !Object.hasOwn(value, name) ? camel : name;
}

/** Undefined, with a note: the gateway cannot ask it. */
export function readLeaf(portkey: Portkey, node: TreePiece, inherited: Inherited): Leaf | undefined {
  const { source } = portkey;
  const named = source.text(node, 'provider');
  const params = source.tree(node, spelled(node, 'override_params'));
  const asked = params === undefined ? undefined : source.text(params, 'model');
  const [, modelSlug, modelName] = /^@([^/]+)\/(.+)$/.exec(asked ?? '') ?? [];
  const integration = named?.startsWith('@') === true ? named.slice(1) : modelSlug;
  const slug = source.text(node, spelled(node, 'virtual_key')) ?? integration;
  const host = source.member(node, spelled(node, 'custom_host'));
  const plain = named === undefined || named.startsWith('@') ? undefined : named;
  const type = plain === undefined ? guessedType(slug ?? '') : typeOf(plain, host !== undefined);
  if (type === undefined) {
    const text =
      plain === undefined && slug !== undefined
        ? 'names a key whose provider the file does not say: add "provider" beside it, and import again'
        : 'names a provider that the gateway has no type for; a server with an API like that of OpenAI needs custom_host';
    note(portkey, 'lost', node, { text });
    return undefined;
  }
  const placed = placeOf(portkey, node, type, host);
  if (placed === undefined) return undefined;
  const owner = { type, slug };
  const traits = traitsOf(portkey, node, { ...owner, address: placed.address, inherited });
  const provider = portkey.find(traits, slug ?? placed.hint);
  if (plain === undefined)
    note(portkey, 'decide', node, {
      about: provider,
      text: `says its provider by the name of a key alone, which suggests ${type}`,
    });
  noteParams(portkey, params, provider);
  return leafOf(portkey, node, provider, modelName ?? asked ?? placed.model);
}

function leafOf(
  portkey: Portkey,
  node: TreePiece,
  provider: DraftProvider,
  model: string | undefined,
): Leaf | undefined {
  if (model !== undefined && isOneModel(model, longestId))
    return { provider, selector: addModel(provider, literal(model)), isFamily: false };
  if (typesWithoutModelList.has(provider.traits.type)) {
    const text = `takes the model that a client names, and ${provider.traits.type} has no list of models: write yours in place of REPLACE-ME`;
    note(portkey, 'decide', node, { about: provider, text });
    return { provider, selector: addModel(provider, 'REPLACE-ME'), isFamily: false };
  }
  provider.patterns.add('*');
  return { provider, selector: `${provider.name}/*`, isFamily: true };
}

interface Placed {
  readonly address: Address;
  readonly hint: string;
  /** What the address says of the model: the deployment of Azure. */
  readonly model?: string | undefined;
}

const usual: Address = { host: '', isPrivate: false, removed: [] };

function placeOf(portkey: Portkey, node: TreePiece, type: ProviderType, host: Piece | undefined): Placed | undefined {
  const { source } = portkey;
  const part = (name: string): string | undefined => addressPart(portkey, node, spelled(node, name));
  if (host !== undefined) {
    const text = typeof host.value === 'string' ? host.value : '';
    const address = readAddress(portkey, type, { piece: host, text });
    return address === undefined ? undefined : { address, hint: address.host };
  }
  if (type === 'azure') {
    const resource = part('azure_resource_name') ?? part('resource_name');
    const version = part('azure_api_version') ?? part('api_version');
    const model =
      source.text(node, spelled(node, 'azure_deployment_id')) ?? source.text(node, spelled(node, 'deployment_id'));
    const query = version === undefined ? '' : `?api-version=${version}`;
    const top =
      resource === undefined ? implied(portkey, 'AZURE_API_BASE', node) : `https://${resource}.openai.azure.com`;
    const base_url = query === '' ? `${top}/openai/v1` : `${top}${query}`;
    const hint = resource === undefined || resource.startsWith('$') ? 'azure' : `azure-${resource}`;
    return { address: { ...usual, base_url }, hint, model };
  }
  if (type === 'bedrock') {
    const region =
      part('aws_region') ?? `${implied(portkey, cloudVariables.awsRegions[0], node).slice(0, -1)}:-us-east-1}`;
    return { address: { ...usual, base_url: `https://bedrock-runtime.${region}.amazonaws.com` }, hint: 'bedrock' };
  }
  if (type !== 'vertex') return { address: usual, hint: '' };
  const project = part('vertex_project_id') ?? implied(portkey, cloudVariables.vertexProjects[0], node);
  return { address: vertexAddress(project, part('vertex_region') ?? 'us-central1'), hint: 'vertex' };
}

interface Owner {
  readonly type: ProviderType;
  readonly slug: string | undefined;
  readonly address: Address;
  readonly inherited: Inherited;
}

function traitsOf(portkey: Portkey, node: TreePiece, { type, slug, address, inherited }: Owner): ProviderTraits {
  const timeout = portkey.source.number(node, spelled(node, 'request_timeout')) ?? inherited.timeoutMs;
  const first = timeout === undefined ? undefined : duration(timeout);
  return {
    type,
    base_url: address.base_url,
    api_key: keyOf(portkey, node, type, slug),
    ...(address.isPrivate ? { allow_private: true } : {}),
    ...(first === undefined ? {} : { timeouts: { first_byte: first } }),
  };
}

/** The key of the file, or the variable that is to hold what Portkey keeps under the name of a virtual key. */
function keyOf(portkey: Portkey, node: TreePiece, type: ProviderType, slug: string | undefined): string | undefined {
  const { source, keys } = portkey;
  const usualName = keyVariable(type);
  const host = source.member(node, spelled(node, 'custom_host'));
  const own = typeof host?.value === 'string' ? (URL.parse(host.value)?.hostname ?? type) : undefined;
  const written = readKey(portkey, node, [spelled(node, 'api_key'), own === undefined ? usualName : `${own}_API_KEY`]);
  if (written !== undefined) return written;
  if (type === 'vertex') note(portkey, 'decide', node, { text: tokenOfGoogle });
  if (type === 'bedrock') {
    const { awsId, awsSecret } = cloudVariables;
    const id = readKey(portkey, node, [spelled(node, 'aws_access_key_id'), awsId]) ?? implied(portkey, awsId, node);
    const secret = readKey(portkey, node, [spelled(node, 'aws_secret_access_key'), awsSecret]);
    return `${id}:${secret ?? implied(portkey, awsSecret, node)}`;
  }
  if (slug === undefined) return type === 'ollama' || own !== undefined ? undefined : implied(portkey, usualName, node);
  const known = keys.get(slug);
  if (known !== undefined) return known;
  const isTaken = portkey.draft.variables.has(usualName);
  const ofSlug = `${slug.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}_API_KEY`;
  const reference = implied(portkey, isTaken && /^[A-Z_]/.test(ofSlug) ? ofSlug : usualName, node);
  keys.set(slug, reference);
  return reference;
}

function noteParams(portkey: Portkey, params: TreePiece | undefined, about: DraftProvider): void {
  if (params === undefined) return;
  for (const piece of portkey.source.unread(params))
    note(portkey, 'lost', piece, {
      about,
      text: `${noCounterpart}: clients say it in their requests; a guardrail of the kind limits can cap max_tokens, one of the kind system_prompt adds words`,
    });
}
