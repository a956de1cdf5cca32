// Provider types of clouds, where each customer has an address of its own, and where it says what can be asked there.
import { defaultAddresses } from '../../schemas/provider-addresses.ts';
import { mediaAt } from './media.ts';
import { mediaPaths, type Row, type Speech } from './row.ts';
import { plainSpeeches, plainStores, speechWith } from './speeches.ts';

const { compact, completions, embeddings, input_tokens, realtime } = plainSpeeches;
const azureMedia = ['speech', 'transcriptions', 'translations', 'image_generations', 'image_edits'] as const;

/**
 * learn.microsoft.com/azure/foundry/openai/api-version-lifecycle: the base URL ends with `/openai/v1`. Names of models are those of
 * deployments, which no key can list: `/models` says what could be deployed.
 */
export const azure: Row = {
  baseUrl: defaultAddresses.azure,
  keyStyle: 'api-key',
  speeches: {
    // Custom tools: learn.microsoft.com/azure/foundry/openai/how-to/reasoning.
    chat: speechWith('chat', { hasFreeTextTools: true }),
    responses: speechWith('responses', { hasFreeTextTools: true }),
    compact,
    input_tokens,
    completions,
    embeddings,
    // The model is the deployment: learn.microsoft.com/azure/foundry/openai/how-to/realtime-audio-websockets.
    realtime,
  },
  media: mediaAt(...azureMedia),
  models: undefined,
  stores: plainStores,
};

/** Sound and images are "preview" below `/openai/v1`, and asked for as such (learn.microsoft.com/azure/foundry/openai/reference-preview-latest). */
const azureLatest: Row = {
  ...azure,
  media: Object.fromEntries(azureMedia.map((name) => [name, { path: `${mediaPaths[name]}?api-version=preview` }])),
};

/**
 * The endpoints of an Azure resource at a base URL: with `/openai/v1` at its end or without it; or, for an API version
 * by date, below the path of the deployment (learn.microsoft.com/azure/ai-services/openai/reference), where `model` in
 * a body is ignored.
 */
export function azureAt({ pathname, searchParams }: URL): Row {
  const path = pathname.replace(/\/+$/, '');
  const version = searchParams.get('api-version');
  const isDated = /^\d{4}-/.test(version ?? '');
  const latest = version === null ? azureLatest : azure;
  const top = path === '' ? '/openai' : '';
  if (path === '' || path === '/openai')
    return isDated
      ? { ...deployments(`${top}/deployments/{model}`), stores: storesBelow(top) }
      : { ...azure, ...below(`${top}/v1`, latest), stores: storesBelow(`${top}/v1`) };
  return /\/deployments\/[^/]+$/.test(path) ? { ...deployments(''), stores: undefined } : latest;
}

function storesBelow(top: string): Row['stores'] {
  const { files, batches } = plainStores;
  return { files: { path: top + files.path }, batches: { path: top + batches.path } };
}

function deployments(top: string): Row {
  const { responses: _, compact: __, input_tokens: ___, realtime: ____, ...speeches } = azure.speeches;
  return { ...azure, ...below(top, { ...azure, speeches }) };
}

function below(top: string, { speeches, media = {} }: Row): Pick<Row, 'speeches' | 'media'> {
  const moved = <Name extends string>(all: Readonly<Partial<Record<Name, Speech>>>) => {
    const entries = Object.entries<Speech | undefined>(all).flatMap(([name, speech]) =>
      speech === undefined ? [] : [[name, { ...speech, path: top + speech.path }]],
    );
    return Object.fromEntries(entries) as Partial<Record<Name, Speech>>;
  };
  return { speeches: moved(speeches), media: moved(media) };
}

/**
 * docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html. The list of models is at another host, and has none of the
 * inference profiles by which most models are asked.
 */
export const bedrock: Row = {
  baseUrl: defaultAddresses.bedrock,
  keyStyle: 'aws',
  speeches: { bedrock: speechWith('bedrock', { isModelInPath: true, isInventor: true }) },
  models: undefined,
};

const claude = ['claude-'];
/** "anthropic_version must be set to vertex-2023-10-16" (docs.anthropic.com/en/api/claude-on-vertex-ai). */
const adds = { anthropic_version: 'vertex-2023-10-16' };
const publishers = '/publishers/google/models/{model}';

/**
 * cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference: the base URL ends with
 * `/projects/{project}/locations/{location}`, and the key is an access token.
 */
export const vertex: Row = {
  baseUrl: defaultAddresses.vertex,
  keyStyle: 'bearer',
  speeches: {
    messages: {
      path: '/publishers/anthropic/models/{model}:rawPredict',
      streamPath: '/publishers/anthropic/models/{model}:streamRawPredict',
      models: claude,
      quirks: { isModelInPath: true, isInventor: true, adds },
    },
    gemini: {
      path: `${publishers}:generateContent`,
      streamPath: `${publishers}:streamGenerateContent?alt=sse`,
      // Ids of calls and results are refused there, although the other address of Gemini takes them.
      quirks: { isModelInPath: true, isInventor: true, takesJsonSchema: true, without: ['id'] },
    },
    // Here the body names the model (cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/count-tokens).
    count_tokens: {
      path: '/publishers/anthropic/models/count-tokens:rawPredict',
      models: claude,
      quirks: { adds },
    },
  },
  models: undefined,
};

/**
 * The endpoints of Vertex at a base URL: one without a project is for API keys, which only Google's models accept
 * (cloud.google.com/vertex-ai/generative-ai/docs/start/express-mode).
 */
export function vertexAt({ pathname }: URL): Row {
  if (pathname.includes('/projects/')) return vertex;
  const { messages: _, count_tokens: __, ...speeches } = vertex.speeches;
  return { ...vertex, keyStyle: 'x-goog-api-key', speeches };
}
