// The interface of a dialect's watch over a stream: the bytes that may pass, the end of the stream, and its usage.
import type { PassedStream } from './measure.ts';

export interface WatchOptions {
  /** Usage was asked for by the gateway alone, so the event that reports it is none of the client's. */
  readonly dropsUsage: boolean;
  readonly readsUsage: boolean;
  /** The connection alone marks the end of the stream, so that only its last event proves that it is whole. */
  readonly watchesEnd: boolean;
  /** The answer is whole when so many choices have ended; absent: where the stream ends is its provider's matter. */
  readonly choices?: number | undefined;
  /** The secrets that no error of the stream may contain, longest first. */
  readonly secrets: readonly string[];
}

/** A stream of which whole events pass, without secrets. */
export interface WatchedStream extends PassedStream {
  /** Bytes of an unfinished event were passed on, because it was too long to hold. */
  readonly insideEvent: boolean;
  /** Takes a chunk, whose memory it may write to; gives the bytes that pass now, perhaps none. */
  push(chunk: Buffer): Buffer;
  /** The bytes of an event that did not end. They are the client's only when the stream did end. */
  rest(): Buffer;
  /** The terminal event has come. Known only when the end is watched. */
  finished(): boolean;
  /** The terminal event has come, or why the answer ends: a stream that ends cleanly may lack the former. Known only when choices must have ended. */
  answered(): boolean;
  /** The last event, where the answer was ended without it; empty: it has come. Known only when choices must have ended. */
  missingEnd(): string;
  /** An event told of an error, in the place of the end. Known only when choices must have ended. */
  failed(): boolean;
  /** The answer was ended, and its usage may come next. */
  awaitsUsage(): boolean;
}
