// The paths that servers of a dialect have in common, below a base URL that ends with the version of the API.
import type { Quirks } from '../dialects/quirks.ts';
import type { Speakable, Speech } from './row.ts';

/** Every request to a server of Anthropic's format names this version (docs.anthropic.com, "Versions"). */
export const anthropicVersion: readonly string[] = ['anthropic-version', '2023-06-01'];

/** A server that keeps no answers. Members of `POST /responses`. */
export const stateless: readonly string[] = ['store', 'previous_response_id'];

/** The endpoints of a server that is known to speak a dialect, with no further facts. */
export const plainSpeeches = {
  chat: { path: '/chat/completions' },
  completions: { path: '/completions' },
  responses: { path: '/responses', quirks: { without: stateless } },
  messages: { path: '/messages', headers: anthropicVersion },
  gemini: {
    path: '/models/{model}:generateContent',
    streamPath: '/models/{model}:streamGenerateContent?alt=sse',
    quirks: { isModelInPath: true },
  },
  bedrock: {
    path: '/model/{model}/converse',
    streamPath: '/model/{model}/converse-stream',
    quirks: { isModelInPath: true },
  },
  // platform.openai.com/docs/api-reference/responses/compact and .../input-tokens
  compact: { path: '/responses/compact' },
  input_tokens: { path: '/responses/input_tokens' },
  embeddings: { path: '/embeddings' },
  // The other endpoints of realtime are below it.
  realtime: { path: '/realtime' },
  count_tokens: { path: '/messages/count_tokens', headers: anthropicVersion },
} as const satisfies Record<Speakable, Speech>;

/** One of them with other quirks. */
export function speechWith(name: Speakable, quirks: Quirks): Speech {
  return { ...plainSpeeches[name], quirks };
}

/** platform.openai.com/docs/api-reference/files and .../batch: the paths of every provider that has them in this format. */
export const plainStores = { files: { path: '/files' }, batches: { path: '/batches' } } as const;
