// The kinds of requests of clients, and the error of a provider: types that all dialects share.
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

/** The content of an error body; null and empty where it is missing. */
export interface ProviderWords {
  readonly message: string;
  readonly code: string | null;
  readonly param: string | null;
  /** The provider's own kind of error, in its own words. */
  readonly type: string | null;
  /** Whatever else stands in an error object, as it was parsed. */
  readonly further: Readonly<Record<string, unknown>>;
}
