// The formats that are implemented: what each is to clients, to providers, and to the bytes of a native answer.
import { bedrockTranslation } from '../dialects/bedrock/translate.ts';
import { readError } from '../dialects/chat/read/read-error.ts';
import { ChunkReader } from '../dialects/chat/read/read-events.ts';
import { StreamTap } from '../dialects/chat/stream-tap.ts';
import { chatTranslation } from '../dialects/chat/translate.ts';
import { chatOfInput } from '../dialects/chat-of-input/translate.ts';
import { CompletionReader } from '../dialects/completions/read-events.ts';
import { completionsTranslation } from '../dialects/completions/translate.ts';
import type { Operation, ProviderWords } from '../dialects/dialect.ts';
import { geminiTranslation } from '../dialects/gemini/translate.ts';
import { MessagesTap } from '../dialects/messages/stream-tap.ts';
import { messagesTranslation } from '../dialects/messages/translate.ts';
import type { ClientDialectName } from '../dialects/names.ts';
import { ResponsesTap } from '../dialects/responses/stream-tap.ts';
import { responsesTranslation } from '../dialects/responses/translate.ts';
import type { ClientDialect, EventReader, ProviderDialect } from '../dialects/translation.ts';
import type { WatchedStream, WatchOptions } from '../tokens/watched-stream.ts';
import type { Speakable } from './row.ts';

/** The parts of a provider's format that relaying its bytes needs. */
export interface Relayed {
  /** Watches an event stream of an answer; nothing of it has passed. */
  watchStream(options: WatchOptions): WatchedStream;
  /** The provider's own words in the text of an error body, its secrets still in them. */
  readonly readError: (text: string) => ProviderWords;
  /** Reads the events of an answer; absent: its answers are never streams. */
  eventReader?(): EventReader;
}

const chatBytes: Relayed = { watchStream: (options) => new StreamTap(options), readError };
const chatEvents: Relayed = { ...chatBytes, eventReader: () => new ChunkReader() };
const messagesBytes: Relayed = {
  watchStream: (options) => new MessagesTap(options),
  readError: messagesTranslation.readError,
};

const responsesBytes: Relayed = {
  watchStream: (options) => new ResponsesTap(options),
  readError: responsesTranslation.readError,
};

const relayed: Readonly<Partial<Record<Speakable, Relayed>>> = {
  chat: chatEvents,
  completions: { ...chatBytes, eventReader: () => new CompletionReader() },
  responses: { ...responsesBytes, eventReader: () => responsesTranslation.eventReader() },
  compact: responsesBytes,
  input_tokens: responsesBytes,
  messages: { ...messagesBytes, eventReader: () => messagesTranslation.eventReader() },
  count_tokens: messagesBytes,
};

/** Any other format has errors as chat has; one that is never relayed needs nothing else. */
export function relayedOf(format: Speakable): Relayed {
  return relayed[format] ?? chatBytes;
}

/** The formats that providers are translated to. */
export const providerDialects: Readonly<Partial<Record<Speakable, ProviderDialect>>> = {
  chat: chatTranslation,
  messages: messagesTranslation,
  gemini: geminiTranslation,
  responses: responsesTranslation,
  bedrock: bedrockTranslation,
};

/** The formats that clients are translated from. */
export const clientDialects: Readonly<Partial<Record<ClientDialectName, ClientDialect>>> = {
  chat: chatTranslation,
  messages: messagesTranslation,
  completions: completionsTranslation,
  responses: responsesTranslation,
};

/** The client dialects by operation: one of them mixes two formats. */
export const translatedFrom: Readonly<Partial<Record<Operation, ClientDialect>>> = {
  ...clientDialects,
  chat_of_input: chatOfInput,
};
