// A provider type is one row of data. Adding a type is adding a row and a recorded answer.
import type { Operation } from '../dialects/dialect.ts';
import type { DialectName } from '../dialects/names.ts';
import type { Quirks } from '../dialects/quirks.ts';

/** How a provider is told who asks. `none`: it is not; `aws`: the request is signed (SigV4). */
export type KeyStyle = 'bearer' | 'x-api-key' | 'api-key' | 'x-goog-api-key' | 'aws' | 'none';

/** The wire formats of a provider: answers of a model in one of the dialects, or one of the other operations. */
export type Speakable = DialectName | Exclude<Operation, 'chat_of_input'>;

/**
 * Further operations in the format of OpenAI (`rerank`: of Cohere), and their paths below a base URL that ends with the version of the
 * API. Clients ask the gateway at the same paths below `/v1`.
 */
export const mediaPaths = {
  speech: '/audio/speech',
  transcriptions: '/audio/transcriptions',
  translations: '/audio/translations',
  image_generations: '/images/generations',
  image_edits: '/images/edits',
  image_variations: '/images/variations',
  moderations: '/moderations',
  rerank: '/rerank',
} as const;
export type MediaOperation = keyof typeof mediaPaths;

/** Where and how something is asked. */
export interface Speech {
  /** Path below the base URL; `{model}` stands for the model's id, encoded for a path. */
  readonly path: string;
  /** Path for a streamed answer; absent: the same. */
  readonly streamPath?: string | undefined;
  /** Path from the host on, where it does not lie below the base URL. */
  readonly isFromRoot?: boolean | undefined;
  /** Absent: as the row says. */
  readonly keyStyle?: KeyStyle | undefined;
  readonly quirks?: Quirks | undefined;
  /** Headers of every such request, names and values in turn. */
  readonly headers?: readonly string[] | undefined;
  /** Models that it is for, by the beginning of their id (`anthropic.`, `claude-`); absent: for all. */
  readonly models?: readonly string[] | undefined;
}

/** The kinds of objects that a provider keeps for its callers, apart from answers. */
export type StoreName = 'files' | 'batches' | 'message_batches';

/** Where things of a kind are kept. */
export interface StoreSpeech {
  /** Path below the base URL. */
  readonly path: string;
  /** It is not known whether the server has it: such a provider is asked when it is named, or when no other is known to have it. */
  readonly isAssumed?: boolean | undefined;
}

/** How a list of models is written. */
export type ModelListFormat = 'openai' | 'anthropic' | 'gemini' | 'cohere';

export interface Row {
  /** Base URL where the config names none; undefined: it has to. */
  readonly baseUrl: string | undefined;
  readonly keyStyle: KeyStyle;
  /** Its native dialects. A client's own dialect is preferred, then the first in this order. */
  readonly speeches: Readonly<Partial<Record<Speakable, Speech>>>;
  /** Its media endpoints; absent: none. */
  readonly media?: Readonly<Partial<Record<MediaOperation, Speech>>> | undefined;
  /** Where its models are listed; undefined: nowhere. */
  readonly models:
    | { readonly path: string; readonly format: ModelListFormat; readonly isFromRoot?: boolean }
    | undefined;
  /** Headers of every request, names and values in turn. */
  readonly headers?: readonly string[] | undefined;
  /** Its stores in the format of OpenAI (files, batches) or of Anthropic (batches of messages); absent: none. */
  readonly stores?: Readonly<Partial<Record<StoreName, StoreSpeech>>> | undefined;
}
