// Reads model_list of LiteLLM: each deployment becomes a model of a provider, and a target of the alias of its group.
import { foldCase } from '../../../domain/selector.ts';
import { typesWithoutModelList } from '../../../schemas/provider-addresses.ts';
import { type DraftLimit, type DraftProvider, literal, noCounterpart, note } from '../draft.ts';
import { isModelName, longestId, longestName } from '../names.ts';
import { addModel, type FindProvider } from '../provider-book.ts';
import type { TreePiece } from '../source.ts';
import type { Translator } from '../traits.ts';
import { deploymentWords } from './explanations.ts';
import { readPrices } from './prices.ts';
import { isVertexModel } from './provider-kinds.ts';
import { type Defaults, readProvider } from './read-provider.ts';

export interface Deployment {
  readonly piece: TreePiece;
  /** The name that clients ask for; may be a pattern. */
  readonly group: string;
  readonly provider: DraftProvider;
  readonly model: string;
  /** `<provider>/<model>`; of a pattern, `<provider>/*`. */
  readonly selector: string;
  readonly weight: number | undefined;
  readonly order: number | undefined;
  readonly rpm: number | undefined;
  readonly tpm: number | undefined;
}

/** Dialects besides chat and embeddings that a compatible server must be said to speak, by `model_info.mode`. */
const dialectOfMode: Readonly<Record<string, string>> = {
  completion: 'completions',
  responses: 'responses',
  audio_speech: 'audio',
  audio_transcription: 'audio',
  image_generation: 'images',
  moderation: 'moderations',
  rerank: 'rerank',
  realtime: 'realtime',
};

export interface Reading {
  readonly translator: Translator;
  readonly find: FindProvider;
  readonly defaults: Defaults;
  /** Values of `credential_list` by name. */
  readonly credentials: ReadonlyMap<string, TreePiece>;
}

/** The deployments that the gateway can ask; the others have a note. */
export function readDeployments(reading: Reading): Deployment[] {
  const { source } = reading.translator;
  return source.trees(source.root, 'model_list').flatMap((piece) => readDeployment(reading, piece) ?? []);
}

function readDeployment(reading: Reading, piece: TreePiece): Deployment | undefined {
  const { translator, find, defaults } = reading;
  const { source } = translator;
  const group = source.text(piece, 'model_name');
  const own = source.tree(piece, 'litellm_params');
  for (const member of ['model_name', 'litellm_params'] as const)
    if (source.member(piece, member) === undefined) source.fail(piece, `must have ${member}`);
  if (group === undefined || own === undefined) return undefined;
  const params = withCredentials(reading, own);
  const model = source.text(params, 'model');
  if (source.member(params, 'model') === undefined) source.fail(own, 'must have model');
  if (model === undefined) return undefined;
  const info = source.tree(piece, 'model_info');
  const read = readProvider(translator, params, model, defaults);
  if (read === undefined || !isUsable(translator, piece, { group, model: read.model })) return undefined;
  const provider = find(read.traits, read.hint);
  const id = literal(read.model);
  const selector = placeModel(translator, params, { provider, id });
  if (selector === undefined) return undefined;
  const pieces = info === undefined ? [params] : [params, info];
  const pricing = readPrices(translator, [...pieces, piece]);
  const priced = provider.models.get(id);
  if (pricing !== undefined && priced !== undefined) priced.pricing ??= pricing;
  keepDialect(translator, provider, info);
  const deployment: Deployment = {
    piece,
    group,
    provider,
    model: id,
    selector,
    ...figuresOf(translator, params, piece),
  };
  keepLimits(translator, deployment, params);
  noteUnread(translator, provider, [...pieces, piece]);
  return deployment;
}

/** The parameters with those of the credential that they name; their own win. */
function withCredentials({ translator, credentials }: Reading, own: TreePiece): TreePiece {
  const name = translator.source.text(own, 'litellm_credential_name');
  const found = name === undefined ? undefined : credentials.get(name);
  return found === undefined ? own : { path: own.path, value: { ...found.value, ...own.value } };
}

function isUsable(
  translator: Translator,
  piece: TreePiece,
  { group, model }: { readonly group: string; readonly model: string },
): boolean {
  const isFitting = isModelName(group, longestName) && isModelName(model, longestId);
  if (!isFitting)
    note(translator, 'lost', piece, {
      text: 'has a name with blanks around it or control characters, or one that is too long',
    });
  return isFitting;
}

/** Adds the model, or the pattern, to its provider; undefined, with a note, where a pattern cannot be. */
function placeModel(
  translator: Translator,
  params: TreePiece,
  { provider, id }: { readonly provider: DraftProvider; readonly id: string },
): string | undefined {
  const { type } = provider.traits;
  const piece = translator.source.member(params, 'model') ?? params;
  const about = provider;
  if (id.includes('*')) {
    if (typesWithoutModelList.has(type)) {
      note(translator, 'lost', piece, {
        text: `${noCounterpart}: ${type} has no list to choose from; list its models`,
      });
      return undefined;
    }
    provider.patterns.add(id);
    return `${provider.name}/*`;
  }
  if (type === 'vertex' && !isVertexModel(id))
    note(translator, 'decide', piece, {
      about,
      text: 'is not of Google or Anthropic: the gateway asks Vertex for those alone',
    });
  if (/embed/i.test(id) && ['vertex', 'bedrock', 'anthropic'].includes(type))
    note(translator, 'decide', piece, {
      about,
      text: `the gateway asks ${type} for no embeddings: requests are answered 400`,
    });
  return addModel(provider, id);
}

function figuresOf(
  { source }: Translator,
  params: TreePiece,
  piece: TreePiece,
): Pick<Deployment, 'weight' | 'order' | 'rpm' | 'tpm'> {
  const figure = (name: string): number | undefined => source.number(params, name) ?? source.number(piece, name);
  return { weight: figure('weight'), order: figure('order'), rpm: figure('rpm'), tpm: figure('tpm') };
}

/** Two deployments of the same model have the sum of their limits. */
function keepLimits(translator: Translator, { selector, rpm, tpm, provider }: Deployment, params: TreePiece): void {
  const { draft, source } = translator;
  const parallel = source.number(params, 'max_parallel_requests');
  if (rpm === undefined && tpm === undefined && parallel === undefined) return;
  if (selector.endsWith('/*')) {
    note(translator, 'lost', params, {
      about: provider,
      text: 'limits of a pattern have no counterpart: a rule names one model',
    });
    return;
  }
  const rule = foldCase(selector);
  const limits: DraftLimit[] = draft.modelLimits.get(rule)?.limits ?? [];
  const add = (period: string, key: 'max_requests' | 'max_tokens', value: number | undefined): void => {
    if (value === undefined || value < 1) return;
    const found = limits.find((limit) => limit.period === period) ?? { period };
    if (!limits.includes(found)) limits.push(found);
    found[key] = Math.min((found[key] ?? 0) + Math.floor(value), Number.MAX_SAFE_INTEGER);
  };
  add('minute', 'max_requests', rpm);
  add('minute', 'max_tokens', tpm);
  add('concurrent', 'max_requests', parallel);
  if (limits.length > 0) draft.modelLimits.set(rule, { model: selector, limits });
}

function keepDialect({ source }: Translator, { traits, dialects }: DraftProvider, info: TreePiece | undefined): void {
  const mode = info === undefined ? undefined : source.text(info, 'mode');
  const isCompatible = traits.type === 'openai' && traits.base_url !== undefined;
  const dialect = mode !== undefined && Object.hasOwn(dialectOfMode, mode) ? dialectOfMode[mode] : undefined;
  if (isCompatible && dialect !== undefined) dialects.add(dialect);
}

function noteUnread(translator: Translator, about: DraftProvider, pieces: readonly TreePiece[]): void {
  for (const parent of pieces) {
    for (const piece of translator.source.unread(parent)) {
      const name = String(piece.path.at(-1));
      const text = deploymentWords(name);
      if (text !== undefined) note(translator, 'lost', piece, { about, text });
    }
  }
}

/** Names by which clients ask, letter case aside: two that differ only in it are one here. */
export function groupsOf(deployments: readonly Deployment[]): Map<string, Deployment[]> {
  return Map.groupBy(deployments, ({ group }) => foldCase(group));
}
