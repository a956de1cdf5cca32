// Reads the provider of a deployment of LiteLLM: its type, address, key, headers and timeouts.
import type { Address } from '../address.ts';
import { note, type ProviderTraits } from '../draft.ts';
import { cloudVariables, keyVariable } from '../provider-variables.ts';
import type { Piece, TreePiece } from '../source.ts';
import {
  addressPart,
  duration,
  implied,
  readAddress,
  readHeaders,
  readKey,
  type Translator,
  tokenOfGoogle,
  vertexAddress,
} from '../traits.ts';
import { bedrockModel, type Kind, type Meant, meantBy } from './provider-kinds.ts';

/** What the settings of the whole file say of every provider. */
export interface Defaults {
  readonly timeouts: Readonly<Record<string, string>>;
  readonly drops: boolean;
  readonly hasBreaker: boolean;
}

interface ReadProvider {
  readonly traits: ProviderTraits;
  /** What tells it from others of its type. */
  readonly hint: string;
  readonly model: string;
}

/** Reads parameters of a deployment; undefined, with a note, where the gateway has no such provider. */
export function readProvider(
  translator: Translator,
  params: TreePiece,
  model: string,
  defaults: Defaults,
): ReadProvider | undefined {
  const { source } = translator;
  const base = source.member(params, 'api_base') ?? source.member(params, 'base_url');
  const custom = source.text(params, 'custom_llm_provider');
  const meant = meantBy(model, custom, base !== undefined);
  if (meant === undefined) {
    const text =
      'names a provider that the gateway has no type for; a server with an API like that of OpenAI needs api_base';
    note(translator, 'lost', source.member(params, 'model') ?? params, { text });
    return undefined;
  }
  const placed = placeOf(translator, params, meant, base);
  if (placed === undefined) return undefined;
  const { address, hint, id } = placed;
  const { type } = meant.kind;
  const key = keyOf(translator, params, meant.kind, hint);
  const drops = source.flag(params, 'drop_params') ?? defaults.drops;
  return {
    hint,
    model: id,
    traits: {
      type,
      base_url: address.base_url,
      api_key: key,
      ...present('headers', headersOf(translator, params, hint || type)),
      ...(drops ? { unsupported: 'drop' } : {}),
      ...(defaults.hasBreaker ? {} : { circuit_breaker: false }),
      ...(address.isPrivate ? { allow_private: true } : {}),
      ...present('timeouts', { ...defaults.timeouts, ...timeoutsOf(translator, params) }),
    },
  };
}

interface Placed {
  readonly address: Address;
  readonly hint: string;
  readonly id: string;
}

function placeOf(translator: Translator, params: TreePiece, meant: Meant, base: Piece | undefined): Placed | undefined {
  const { type, address } = meant.kind;
  if (type === 'bedrock') return ofBedrock(translator, params, meant, base);
  if (type === 'vertex' && base === undefined) return ofVertex(translator, params, meant.model);
  if (type === 'azure') return ofAzure(translator, params, meant, base);
  const piece = base ?? params;
  const text = base === undefined ? address : textOf(translator, base);
  const found: Address | undefined =
    text === undefined ? { host: '', isPrivate: false, removed: [] } : readAddress(translator, type, { piece, text });
  const own = type === 'openai' ? hintOf(found?.host ?? '') : ownHint(type, found?.host ?? '');
  const hint = address === undefined || base !== undefined ? own : meant.provider;
  return found === undefined ? undefined : { address: found, hint, id: meant.model };
}

function textOf({ source }: Translator, piece: Piece): string | undefined {
  if (typeof piece.value === 'string') return piece.value;
  source.fail(piece, 'must be text');
  return undefined;
}

/** `my-res.openai.azure.com` → `azure-my-res`; a host of one's own as it is. */
function hintOf(host: string): string {
  const [label = ''] = host.split('.');
  if (host === '') return '';
  return host.endsWith('.azure.com') || host.endsWith('.microsoft.com') ? `azure-${label}` : host;
}

/** `vllm-10.0.0.5`, because an address alone says little. */
function ownHint(type: string, host: string): string {
  return host === '' ? '' : `${type}-${host}`;
}

function ofAzure(translator: Translator, params: TreePiece, meant: Meant, base: Piece | undefined): Placed | undefined {
  const { source, variables } = translator;
  const given = source.member(params, 'api_version');
  const version = given === undefined ? undefined : source.text(params, 'api_version');
  const reference = given === undefined || version === undefined ? undefined : variables.referenceOf(version, given);
  if (given !== undefined && version !== undefined && reference === undefined && !/^[\w.-]{1,40}$/.test(version)) {
    source.fail(given, 'must be a version of the API such as 2024-10-21');
    return undefined;
  }
  const usable = meant.provider === 'azure_ai' ? undefined : (reference ?? version);
  const query = usable === undefined ? '' : `?api-version=${usable}`;
  const piece = base ?? params;
  const text = base === undefined ? 'os.environ/AZURE_API_BASE' : textOf(translator, base);
  if (text === undefined) return undefined;
  const address = readAddress(translator, 'azure', { piece, text, query });
  if (address === undefined) return undefined;
  for (const member of ['azure_ad_token', 'tenant_id', 'client_id', 'client_secret']) {
    const found = source.member(params, member);
    if (found !== undefined)
      note(translator, 'lost', found, { text: `${noTokens}; give the provider an API key of the resource` });
  }
  return { address: atTop(address, query), hint: hintOf(address.host) || 'azure', id: meant.model };
}

const noTokens = 'has no counterpart: the gateway fetches no tokens of an identity provider';

/** Without a version the newer form of the API is meant, which ends with `/openai/v1`. */
function atTop(address: Address, query: string): Address {
  const { base_url: base = '' } = address;
  if (query !== '') {
    // The paths of deployments are added by the gateway.
    return { ...address, base_url: base.replace(/^(https?:\/\/[^/?]+)\/(?:openai)?(?=\?)/, '$1') };
  }
  return { ...address, base_url: /\/openai(\/v1)?\/?$/.test(base) ? base : `${base.replace(/\/$/, '')}/openai/v1` };
}

function ofBedrock(
  translator: Translator,
  params: TreePiece,
  meant: Meant,
  base: Piece | undefined,
): Placed | undefined {
  const { source } = translator;
  const { model, region: said } = bedrockModel(meant.model);
  const endpoint = base ?? source.member(params, 'aws_bedrock_runtime_endpoint');
  const given = addressPart(translator, params, 'aws_region_name') ?? addressPart(translator, params, 'region_name');
  for (const member of [
    'aws_role_name',
    'aws_session_name',
    'aws_profile_name',
    'aws_web_identity_token',
    'aws_external_id',
  ]) {
    const found = source.member(params, member);
    if (found !== undefined) note(translator, 'lost', found, { text: `has no counterpart: ${awsKeysOnly}` });
  }
  if (endpoint !== undefined) {
    const text = textOf(translator, endpoint);
    const address = text === undefined ? undefined : readAddress(translator, 'bedrock', { piece: endpoint, text });
    return address === undefined ? undefined : { address, hint: hintOf(address.host) || 'bedrock', id: model };
  }
  const region =
    given ?? said ?? `${implied(translator, cloudVariables.awsRegions[0], params).slice(0, -1)}:-us-west-2}`;
  const base_url = `https://bedrock-runtime.${region}.amazonaws.com`;
  const hint = region.startsWith('$') ? 'bedrock' : `bedrock-${region}`;
  return { address: { base_url, host: '', isPrivate: false, removed: [] }, hint, id: model };
}

const awsKeysOnly =
  'the gateway signs with a key, or sends a Bedrock API key; it takes on no roles and reads no profiles';

function ofVertex(translator: Translator, params: TreePiece, id: string): Placed | undefined {
  const { vertexProjects } = cloudVariables;
  const part = (name: string): string | undefined =>
    addressPart(translator, params, `vertex_${name}`) ?? addressPart(translator, params, `vertex_ai_${name}`);
  const project = part('project') ?? implied(translator, vertexProjects[0], params);
  const location = part('location') ?? 'us-central1';
  return {
    address: vertexAddress(project, location),
    hint: location.startsWith('$') ? 'vertex' : `vertex-${location}`,
    id,
  };
}

function keyOf(translator: Translator, params: TreePiece, kind: Kind, hint: string): string | undefined {
  const { source } = translator;
  const { type } = kind;
  const wanted = kind.key ?? keyVariable(type);
  if (type === 'bedrock') return awsKey(translator, params);
  if (type === 'vertex') {
    const credentials = source.member(params, 'vertex_credentials');
    const piece = credentials ?? params;
    note(translator, 'decide', piece, { text: tokenOfGoogle });
    return implied(translator, wanted, piece);
  }
  // A server of one's own may have a key of its own.
  const name = type === 'openai' && hint !== '' && kind.address === undefined ? `${hint}_API_KEY` : wanted;
  const hasKey = source.member(params, 'api_key') !== undefined;
  if (hasKey) return readKey(translator, params, ['api_key', name]);
  const isOptional =
    type === 'ollama' || type === 'vllm' || (type === 'openai' && hint !== '' && kind.address === undefined);
  return isOptional ? undefined : implied(translator, wanted, params);
}

/** `ID:SECRET`, with the token of a temporary one. */
function awsKey(translator: Translator, params: TreePiece): string {
  const { awsId, awsSecret, awsToken } = cloudVariables;
  const single = readKey(translator, params, ['api_key', keyVariable('bedrock')]);
  const id = readKey(translator, params, ['aws_access_key_id', awsId]);
  const secret = readKey(translator, params, ['aws_secret_access_key', awsSecret]);
  const token = readKey(translator, params, ['aws_session_token', awsToken]);
  if (single !== undefined) return single;
  if (id !== undefined && secret !== undefined) return [id, secret, ...(token === undefined ? [] : [token])].join(':');
  return `${implied(translator, awsId, params)}:${implied(translator, awsSecret, params)}`;
}

function headersOf(translator: Translator, params: TreePiece, owner: string): Record<string, string> {
  const { source, variables } = translator;
  const organization = source.member(params, 'organization');
  const text = organization === undefined ? undefined : source.text(params, 'organization');
  const headers = new Map<string, [string, string]>();
  for (const member of ['headers', 'extra_headers'])
    for (const entry of Object.entries(readHeaders(translator, source.tree(params, member), owner)))
      headers.set(entry[0].toLowerCase(), entry);
  const name = 'OpenAI-Organization';
  if (organization !== undefined && text !== undefined) {
    const reference = variables.referenceOf(text, organization);
    headers.set(name.toLowerCase(), [name, reference ?? variables.hide(text, 'OPENAI_ORGANIZATION', organization)]);
  }
  return Object.fromEntries(headers.values());
}

/** Seconds in the source. What LiteLLM waits for is the first byte, of a stream the first part of the answer. */
export function timeoutsOf(translator: Translator, params: TreePiece): Record<string, string> {
  const read: Record<string, string> = {};
  for (const [member, name] of [
    ['timeout', 'first_byte'],
    ['request_timeout', 'first_byte'],
    ['stream_timeout', 'first_event'],
  ] as const) {
    const piece = translator.source.member(params, member);
    const seconds = piece === undefined ? undefined : translator.source.number(params, member);
    const said = seconds === undefined ? undefined : duration(seconds * 1000);
    if (said !== undefined) read[name] = said;
    else if (piece !== undefined && seconds !== undefined)
      note(translator, 'lost', piece, { text: 'is no time from a millisecond to a day' });
  }
  return read;
}

function present<Key extends string>(
  key: Key,
  value: Readonly<Record<string, string>>,
): Partial<Record<Key, Readonly<Record<string, string>>>> {
  return Object.keys(value).length === 0 ? {} : ({ [key]: value } as Record<Key, Readonly<Record<string, string>>>);
}

/** The types whose usual variables a file reads without naming them: of deployments that have no key. */
export function impliedKeys(
  models: readonly { model: string; custom?: string | undefined; hasKey: boolean }[],
): Set<string> {
  const found = models.flatMap(({ model, custom, hasKey }) => {
    const kind = hasKey ? undefined : meantBy(model, custom, false)?.kind;
    return kind === undefined ? [] : [kind.key ?? keyVariable(kind.type)];
  });
  return new Set(found);
}
