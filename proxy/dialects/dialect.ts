// What a client may ask a model for, and what an error of a provider says: words that all dialects have together.
import type { ClientDialectName } from './names.ts';

/**
 * The model operations a gateway endpoint can stand for. The first four are wire formats, between which answers of models are translated;
 * `chat_of_input` is asked for in the words of Responses and answered in those of chat. `compact` and `input_tokens` are those of
 * `/v1/responses/…`, which only servers of Responses have.
 */
export type Operation =
  | ClientDialectName
  | 'chat_of_input'
  | 'compact'
  | 'input_tokens'
  | 'embeddings'
  | 'count_tokens'
  | 'realtime';

/** Whose clients are served: their SDKs read headers of different names. */
export type Surface = 'openai' | 'anthropic';

/** What an error body says; null and empty where it says nothing. */
export interface ProviderWords {
  readonly message: string;
  readonly code: string | null;
  readonly param: string | null;
  /** The provider's own kind of error, in its own words. */
  readonly type: string | null;
  /** Whatever else stands in an error object, as it was parsed. */
  readonly further: Readonly<Record<string, unknown>>;
}
