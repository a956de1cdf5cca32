// What a provider dialect is: pure translation between a client's call and an upstream request, no sockets.
import type { Call } from '../call/call.ts';
import type { WatchedStream, WatchOptions } from '../tokens/watched-stream.ts';

/** The model operations a gateway endpoint can stand for. */
export type Operation = 'chat' | 'embeddings';

/** A place a request may go, as far as a dialect needs to know it. */
export interface DialectTarget {
  /** The model's id at the provider, as the bytes of a JSON string. */
  readonly modelJson: Buffer;
  /** `streamUsage`: the provider accepts `stream_options`. */
  readonly upstream: { readonly streamUsage: boolean };
}

/** An upstream request: path below the provider's base URL, and the body to send. */
export interface UpstreamRequest {
  readonly path: string;
  readonly body: Buffer;
  /** The usage event of the stream exists only because the gateway asked for it. */
  readonly injectedUsage: boolean;
}

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

/** One upstream wire format. */
export interface Dialect {
  /** Headers that authenticate and frame a request, as name-value pairs in one flat list. */
  headers(apiKey: string | undefined): string[];
  /** Translates a call. `wantUsage`: the gateway counts tokens and would like streams to report them. */
  request(operation: Operation, call: Call, target: DialectTarget, wantUsage: boolean): UpstreamRequest;
  /** Watches an event stream of an answer; nothing of it has passed. */
  watchStream(options: WatchOptions): WatchedStream;
  /** The provider's own words in the text of an error body, its secrets still in them. */
  readError(text: string): ProviderWords;
  /** Path of the list of models below the provider's base URL. */
  readonly modelsPath: string;
  /** The ids in the text of a list of models, whatever they are; undefined when it is none. */
  readModels(text: string): readonly unknown[] | undefined;
}
