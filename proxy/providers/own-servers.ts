// Provider types of servers that people run themselves, and what is said of a server of which only the address is known.
import { defaultAddresses } from '../../schemas/provider-addresses.ts';
import { mediaAt } from './media.ts';
import type { Row } from './row.ts';
import { plainSpeeches, plainStores, speechWith, stateless } from './speeches.ts';

const { chat, completions, messages, embeddings, count_tokens } = plainSpeeches;
const models = { path: '/models', format: 'openai' } as const;

/** docs.ollama.com/api/openai-compatibility, and docs.ollama.com/api/anthropic-compatibility for `messages`. */
export const ollama: Row = {
  baseUrl: defaultAddresses.ollama,
  // Its cloud accepts no other style, in either format.
  keyStyle: 'bearer',
  speeches: {
    // Not ticked in the list of request fields.
    chat: speechWith('chat', {
      maxTokens: 'max_tokens',
      hasOnlySystemRole: true,
      without: ['tool_choice', 'logit_bias', 'user', 'n'],
    }),
    // "Only the non-stateful flavor is supported."
    responses: speechWith('responses', { without: [...stateless, 'conversation', 'truncation'] }),
    // "Not supported".
    messages: { ...messages, quirks: { without: ['tool_choice', 'metadata'] } },
    completions,
    embeddings,
  },
  // "Experimental" in its docs/api/openai-compatibility.
  media: mediaAt('image_generations'),
  models,
};

/** docs.vllm.ai/en/latest/serving/openai_compatible_server.html */
export const vllm: Row = {
  baseUrl: defaultAddresses.vllm,
  keyStyle: 'bearer',
  speeches: {
    // "`user` parameter is ignored." Which roles are known depends on the template of the model; all know `system`.
    chat: speechWith('chat', { maxTokens: 'max_tokens', hasOnlySystemRole: true, without: ['user'] }),
    // It keeps answers only with VLLM_ENABLE_RESPONSES_API_STORE.
    responses: speechWith('responses', { without: stateless }),
    messages,
    // "`suffix` parameter is not supported."
    completions: speechWith('completions', { without: ['suffix'] }),
    embeddings,
    count_tokens,
  },
  // docs.vllm.ai/en/v0.22.1/serving/online_serving
  media: mediaAt('transcriptions', 'translations', 'rerank'),
  models,
};

/** A server that speaks the format of OpenAI's chat completions, as `type: openai` with another host says. What else it speaks, `dialects` says. */
export const compatible: Row = {
  baseUrl: undefined,
  keyStyle: 'bearer',
  speeches: { chat, embeddings },
  models,
  stores: {
    files: { ...plainStores.files, isAssumed: true },
    batches: { ...plainStores.batches, isAssumed: true },
  },
};
