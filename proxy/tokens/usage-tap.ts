// The tap that counts tokens. Of a stream it passes whole events only, and it knows whether the stream was complete.
import type { Answer, Failure, Sink, Tap } from '../answer.ts';
import { type MeasuredRequest, measureBody, measurePassing, measureStream } from './measure.ts';
import { ReadSink } from './read-sink.ts';
import type { TokenUsage } from './token-usage.ts';
import { createUsageReader, type UsageReader } from './usage-reader.ts';
import type { WatchedStream, WatchOptions } from './watched-stream.ts';

/** An answer and what its provider's dialect makes of a stream. */
export interface Tapped {
  readonly answer: Answer;
  /** The stream's usage event exists only because the gateway asked for it. */
  readonly injectedUsage: boolean;
  readonly relayed: { watchStream(options: WatchOptions): WatchedStream };
  readonly target: { readonly upstream: { readonly secrets: readonly string[] } };
}

/** The parts of an answer that are read. */
export interface ReadOfAnswer {
  /** Tokens are counted. */
  readonly readsUsage: boolean;
  /** The number of choices of a stream that must have ended; absent: the provider decides its end. */
  readonly choices?: number | undefined;
}

/** A usage event and what may come in front of it. What is longer is no such thing. Bytes. */
const mostDrainedBytes = 64 * 1024;
const eventBreak = Buffer.from('\n\n');

/** The tap of one answer to what was `asked`. */
export class UsageTap implements Tap {
  readonly #asked: MeasuredRequest;
  readonly #tapped: Tapped;
  readonly #read: ReadOfAnswer;
  #whole: Buffer | undefined;
  #stream: WatchedStream | undefined;
  #reader: UsageReader | undefined;

  constructor(asked: MeasuredRequest, tapped: Tapped, read: ReadOfAnswer) {
    this.#asked = asked;
    this.#tapped = tapped;
    this.#read = read;
  }

  whole(body: Buffer): Buffer {
    this.#whole = body;
    return body;
  }

  open(next: Sink): Sink {
    const { answer, injectedUsage, relayed, target } = this.#tapped;
    const { readsUsage, choices } = this.#read;
    if (answer.stream) {
      const { secrets } = target.upstream;
      // A body that ends with the connection may have been cut: only the terminal event proves that it was not.
      const watchesEnd = !answer.framed;
      const options = { dropsUsage: injectedUsage, readsUsage, watchesEnd, choices, secrets };
      this.#stream = relayed.watchStream(options);
      return new EventSink(this.#stream, { isFramed: answer.framed, needsEnd: choices !== undefined }, next);
    }
    if (!readsUsage) return next;
    this.#reader = createUsageReader();
    return new ReadSink(this.#reader, next);
  }

  awaitsMore(drainedBytes: number): boolean {
    if (this.#stream === undefined) return false;
    if (drainedBytes === 0) return this.#stream.awaitsUsage();
    return this.#stream.usage() === undefined && drainedBytes <= mostDrainedBytes;
  }

  get heldBytes(): number {
    return this.#whole?.length ?? 0;
  }

  /**
   * The usage: as reported, else estimated from the bytes that passed. Undefined when nothing passed, or tokens are not
   * counted.
   */
  usage(): TokenUsage | undefined {
    if (!this.#read.readsUsage) return undefined;
    if (this.#stream) return measureStream(this.#asked, this.#stream);
    if (this.#reader) return measurePassing(this.#asked, this.#reader);
    return this.#whole && measureBody(this.#asked, this.#whole);
  }
}

/** Passes whole events on. A stream that broke off, or told of an error, ends with a failure, unless its terminal event has come. */
class EventSink implements Sink {
  readonly #stream: WatchedStream;
  readonly #framing: { readonly isFramed: boolean; readonly needsEnd: boolean };
  readonly #next: Sink;

  /** `isFramed`: a clean end proves that no byte is missing; `needsEnd`: and the answer must have told its end, too. */
  constructor(stream: WatchedStream, framing: { readonly isFramed: boolean; readonly needsEnd: boolean }, next: Sink) {
    this.#stream = stream;
    this.#framing = framing;
    this.#next = next;
  }

  write(chunk: Buffer): boolean {
    const bytes = this.#stream.push(chunk);
    return bytes.length === 0 || this.#next.write(bytes);
  }

  end(failure: Failure | undefined): void {
    const broken = brokenOff(failure);
    if (this.#stream.failed() && broken.code === 'stream_incomplete') {
      // The client has read of the error, and gets what the provider sent behind it.
      if (failure === undefined) this.#passRest();
      this.#next.end({ ...broken, isTold: true });
      return;
    }
    // A failure after the terminal event does not concern the client.
    const isWhole = this.#stream.finished() || (failure === undefined && this.#isCleanlyEnded);
    if (isWhole) this.#passEnd(failure === undefined && this.#framing.needsEnd);
    else if (this.#stream.insideEvent) this.#next.write(eventBreak);
    this.#next.end(isWhole ? undefined : broken);
  }

  get #isCleanlyEnded(): boolean {
    const { isFramed, needsEnd } = this.#framing;
    return isFramed && (!needsEnd || this.#stream.answered());
  }

  #passRest(): Buffer {
    const rest = this.#stream.rest();
    if (rest.length > 0) this.#next.write(rest);
    return rest;
  }

  /** Clients wait for the last event, which some servers leave out. */
  #passEnd(mayMiss: boolean): void {
    const rest = this.#passRest();
    const missing = mayMiss ? this.#stream.missingEnd() : '';
    if (missing !== '') this.#next.write(Buffer.from(rest.length === 0 ? missing : `\n\n${missing}`));
  }
}

/** A stream that ended too early, for no reason or because the provider was lost. Other reasons stay what they are. */
function brokenOff(failure: Failure | undefined): Failure {
  if (failure === undefined || failure.code === 'upstream_disconnected')
    return { code: 'stream_incomplete', reason: '' };
  return failure;
}
