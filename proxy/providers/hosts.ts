// Provider types of companies that serve models of others.
import { defaultAddresses } from '../../schemas/provider-addresses.ts';
import { mediaAt } from './media.ts';
import type { Row } from './row.ts';
import { plainSpeeches, plainStores, speechWith, stateless } from './speeches.ts';

const { completions, messages, embeddings } = plainSpeeches;
const models = { path: '/models', format: 'openai' } as const;

/** openrouter.ai/docs/api-reference */
export const openrouter: Row = {
  baseUrl: defaultAddresses.openrouter,
  keyStyle: 'bearer',
  speeches: {
    // openrouter.ai/docs/use-cases/reasoning-tokens
    chat: speechWith('chat', { thinking: 'reasoning' }),
    // "The API is stateless" (openrouter.ai/docs/api-reference/responses/overview).
    responses: speechWith('responses', { without: stateless }),
    messages,
    completions,
    embeddings,
  },
  // openrouter.ai/docs/api/api-reference. Its transcripts are asked for in JSON, and its images elsewhere (images/generate-an-image).
  media: mediaAt('speech', 'rerank'),
  models,
};

/** console.groq.com/docs/openai */
export const groq: Row = {
  baseUrl: defaultAddresses.groq,
  keyStyle: 'bearer',
  speeches: {
    chat: speechWith('chat', {
      maxTokens: 'max_completion_tokens',
      hasOnlySystemRole: true,
      // "Currently unsupported OpenAI features": 400 for each of them; `n` has to be 1.
      without: ['logprobs', 'top_logprobs', 'logit_bias', 'n', 'reasoning_content'],
    }),
    // "Unsupported features" (console.groq.com/docs/responses-api).
    responses: speechWith('responses', {
      without: [...stateless, 'truncation', 'include', 'safety_identifier', 'prompt_cache_key'],
    }),
  },
  // console.groq.com/docs/api-reference
  media: mediaAt('speech', 'transcriptions', 'translations'),
  models,
  stores: plainStores,
};

/** docs.together.ai/docs/inference/openai-compatibility */
export const together: Row = {
  baseUrl: defaultAddresses.together,
  keyStyle: 'bearer',
  // Roles and `max_tokens` as in docs.together.ai/reference/chat-completions-1.
  speeches: {
    chat: speechWith('chat', { maxTokens: 'max_tokens', hasOnlySystemRole: true }),
    completions,
    embeddings,
  },
  // docs.together.ai/reference: audio-speech, audio-transcriptions, audio-translations, post-images-generations (edits, too), rerank.
  media: mediaAt('speech', 'transcriptions', 'translations', 'image_generations', 'rerank'),
  models,
};

/** docs.fireworks.ai/tools-sdks/openai-compatibility and docs.fireworks.ai/tools-sdks/anthropic-compatibility */
export const fireworks: Row = {
  baseUrl: defaultAddresses.fireworks,
  keyStyle: 'bearer',
  speeches: {
    chat: speechWith('chat', { maxTokens: 'max_tokens', hasOnlySystemRole: true }),
    // It keeps answers (docs.fireworks.ai/guides/response-api).
    responses: { path: plainSpeeches.responses.path },
    messages,
    completions,
    embeddings,
  },
  // docs.fireworks.ai/api-reference/rerank-documents: what it finds is in `data`. Its audio and its images are at other hosts.
  media: mediaAt('rerank'),
  models,
};

/** inference-docs.cerebras.ai/resources/openai */
export const cerebras: Row = {
  baseUrl: defaultAddresses.cerebras,
  keyStyle: 'bearer',
  speeches: {
    chat: speechWith('chat', {
      maxTokens: 'max_completion_tokens',
      // "Our implementation does not expose developer."
      hasOnlySystemRole: true,
      // 400 for each of them.
      without: ['frequency_penalty', 'presence_penalty', 'logit_bias'],
    }),
    completions,
  },
  models,
};

/** deepinfra.com/docs/openai_api */
export const deepinfra: Row = {
  baseUrl: defaultAddresses.deepinfra,
  keyStyle: 'bearer',
  speeches: {
    chat: speechWith('chat', { maxTokens: 'max_tokens', hasOnlySystemRole: true }),
    completions,
    embeddings,
  },
  // docs.deepinfra.com/api-reference: openai-audio-speech-1, openai-audio-transcriptions, openai-audio-translations-1; images as in
  // deepinfra.com/Qwen/Qwen-Image-Edit/api, which has no variations.
  media: mediaAt('speech', 'transcriptions', 'translations', 'image_generations', 'image_edits'),
  models,
};
