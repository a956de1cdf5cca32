// Provider types of companies that serve models of their own.
import { defaultAddresses } from '../../schemas/provider-addresses.ts';
import { nineLetters } from '../dialects/tools/call-forms.ts';
import { mediaAt } from './media.ts';
import type { Row } from './row.ts';
import { anthropicVersion, plainSpeeches, plainStores, speechWith, stateless } from './speeches.ts';

const {
  completions,
  messages,
  gemini: generate,
  compact,
  input_tokens,
  embeddings,
  count_tokens,
  realtime,
} = plainSpeeches;

/** platform.openai.com/docs/api-reference */
export const openai: Row = {
  baseUrl: defaultAddresses.openai,
  keyStyle: 'bearer',
  speeches: {
    chat: speechWith('chat', { isInventor: true }),
    responses: speechWith('responses', { isInventor: true }),
    compact,
    input_tokens,
    completions,
    embeddings,
    realtime,
  },
  // Variations of images were for DALL·E 2 alone, which was "removed from the API" (developers.openai.com/api/docs/models/dall-e-2).
  media: mediaAt('speech', 'transcriptions', 'translations', 'image_generations', 'image_edits', 'moderations'),
  models: { path: '/models', format: 'openai' },
  stores: plainStores,
};

/** docs.anthropic.com/en/api */
export const anthropic: Row = {
  baseUrl: defaultAddresses.anthropic,
  keyStyle: 'x-api-key',
  speeches: {
    messages: { path: messages.path, quirks: { isInventor: true } },
    count_tokens: { path: count_tokens.path },
  },
  // 1000 is the longest page ("List Models").
  models: { path: '/models?limit=1000', format: 'anthropic' },
  headers: anthropicVersion,
  // Its files have a format of their own.
  stores: { message_batches: { path: '/messages/batches' } },
};

/** ai.google.dev/api/generate-content, and ai.google.dev/gemini-api/docs/openai for `chat` and `embeddings`. */
export const gemini: Row = {
  baseUrl: defaultAddresses.gemini,
  keyStyle: 'x-goog-api-key',
  speeches: {
    // `parametersJsonSchema` and `responseJsonSchema`: ai.google.dev/api/caching#FunctionDeclaration and ai.google.dev/api/generate-content.
    gemini: { ...generate, quirks: { isModelInPath: true, isInventor: true, takesJsonSchema: true } },
    chat: {
      path: '/openai/chat/completions',
      keyStyle: 'bearer',
      quirks: { hasOnlySystemRole: true, takesProof: true },
    },
    embeddings: { path: '/openai/embeddings', keyStyle: 'bearer' },
  },
  // ai.google.dev/gemini-api/docs/openai
  media: { image_generations: { path: '/openai/images/generations', keyStyle: 'bearer' } },
  // 1000 is the longest page (ai.google.dev/api/models).
  models: { path: '/models?pageSize=1000', format: 'gemini' },
};

/** docs.x.ai/developers/rest-api-reference. Its format of Anthropic's is "fully deprecated" there, so it is not spoken. */
export const xai: Row = {
  baseUrl: defaultAddresses.xai,
  keyStyle: 'bearer',
  speeches: {
    // The reasoning of models is told in this format alone ("Comparison with Chat Completions API"). The members are "not supported".
    responses: speechWith('responses', { without: ['metadata', 'background', 'service_tier', 'truncation'] }),
    // "(Unsupported)" in the reference of chat completions.
    chat: speechWith('chat', { hasOnlySystemRole: true, without: ['logit_bias', 'metadata', 'store'] }),
    embeddings,
    // docs.x.ai/docs/guides/voice
    realtime,
  },
  // docs.x.ai/developers/rest-api-reference/inference/images: edits are JSON there.
  media: mediaAt('image_generations'),
  models: { path: '/models', format: 'openai' },
};

/** docs.mistral.ai/api: its schema allows no other members, such as `seed`, which is `random_seed` there. Every stream ends with usage. */
export const mistral: Row = {
  baseUrl: defaultAddresses.mistral,
  keyStyle: 'bearer',
  speeches: {
    chat: speechWith('chat', {
      maxTokens: 'max_tokens',
      hasOnlySystemRole: true,
      callId: nineLetters,
      // docs.mistral.ai/capabilities/completion/prefixes: the answer begins with the prefix.
      prefix: '/',
      without: [
        'seed',
        'logprobs',
        'top_logprobs',
        'logit_bias',
        'user',
        'safety_identifier',
        'store',
        'service_tier',
        'verbosity',
        'reasoning_content',
        'stream_options',
      ],
    }),
    embeddings,
  },
  // docs.mistral.ai/api/endpoint/audio/transcriptions and docs.mistral.ai/api/endpoint/classifiers. Speech comes as JSON there
  // (docs.mistral.ai/api/endpoint/audio/speech).
  media: mediaAt('transcriptions', 'moderations'),
  models: { path: '/models', format: 'openai' },
  // Its batches (/batch/jobs) have a format of their own.
  stores: { files: plainStores.files },
};

/** api-docs.deepseek.com/api/create-chat-completion, and api-docs.deepseek.com/guides/anthropic_api for `messages`. */
export const deepseek: Row = {
  baseUrl: defaultAddresses.deepseek,
  keyStyle: 'bearer',
  speeches: {
    chat: speechWith('chat', {
      maxTokens: 'max_tokens',
      hasOnlySystemRole: true,
      // `content` is a string there.
      hasOnlyTextContent: true,
      // api-docs.deepseek.com/guides/chat_prefix_completion: at the base URL https://api.deepseek.com/beta.
      prefix: '/beta/',
      // `response_format` is `text` or `json_object`.
      outputSchema: false,
      without: ['n', 'seed', 'logit_bias', 'parallel_tool_calls', 'store', 'metadata', 'service_tier'],
    }),
    messages: {
      path: '/anthropic/v1/messages',
      isFromRoot: true,
      keyStyle: 'x-api-key',
      headers: anthropicVersion,
      // "Ignored" in the table of fields.
      quirks: { without: ['container', 'mcp_servers', 'service_tier', 'top_k'] },
    },
  },
  models: { path: '/models', format: 'openai' },
};

/** docs.perplexity.ai/docs/agent-api/openai-compatibility. Chat completions (Sonar) ended on 27 September 2026. */
export const perplexity: Row = {
  baseUrl: defaultAddresses.perplexity,
  keyStyle: 'bearer',
  // Its reference has no member for an answer that is kept.
  speeches: { responses: speechWith('responses', { without: stateless }), embeddings },
  models: { path: '/models', format: 'openai' },
};

/** docs.cohere.com/docs/compatibility-api; its own API lists the models (docs.cohere.com/reference/list-models). */
export const cohere: Row = {
  baseUrl: defaultAddresses.cohere,
  keyStyle: 'bearer',
  speeches: {
    // "Unsupported parameters".
    chat: speechWith('chat', {
      maxTokens: 'max_tokens',
      without: [
        'n',
        'logit_bias',
        'top_logprobs',
        'parallel_tool_calls',
        'prediction',
        'modalities',
        'audio',
        'store',
        'metadata',
        'service_tier',
      ],
    }),
    embeddings: speechWith('embeddings', { without: ['dimensions', 'user'] }),
  },
  // docs.cohere.com/reference/create-audio-transcription and docs.cohere.com/reference/rerank
  media: {
    transcriptions: { path: '/v2/audio/transcriptions', isFromRoot: true },
    rerank: { path: '/v2/rerank', isFromRoot: true },
  },
  models: { path: '/v1/models?page_size=1000', format: 'cohere', isFromRoot: true },
};
