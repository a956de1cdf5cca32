// The answer that is relayed to a client, as a value, and the taps that its bytes pass. The pipeline treats a provider's answer and a
// stored one alike.
import type { ErrorCode } from './errors.ts';

/** Why an answer is not complete; a sink makes an error of it. */
export interface Failure {
  readonly code: ErrorCode;
  /** Words for the error's message; never an address, a header or a body. */
  readonly reason: string;
  /** The client has read it already, as an event of its stream. */
  readonly isTold?: boolean;
  /** Whose failure it is; absent: that of the provider whose answer began. */
  readonly provider?: string;
}

/** Where the bytes of an open answer go. */
export interface Sink {
  /** Takes a chunk; false asks for a pause until `Answer.resume`. */
  write(chunk: Buffer): boolean;
  /** The answer is over: completely, or broken by a failure. Called once. */
  end(failure: Failure | undefined): void;
}

/** An answer whose head is known. Its body is all there, or flows into a sink; its bytes are plain, whatever the provider has sent. */
export interface Answer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly contentLength: string | undefined;
  /** An event stream: it is relayed as a flow, even when it is complete. */
  readonly stream: boolean;
  /** The end of the body is marked by its framing, so that an end without a failure proves it complete. */
  readonly framed: boolean;
  /** `body` gives all of it. */
  readonly complete: boolean;
  /** Also of a stream: `body` is what the client gets, and no failure follows. Absent: that is not known. */
  readonly isOwn?: true;
  /** The bytes that are there so far, before `attach`. */
  body(): Buffer;
  /** Lets the bytes flow into a sink, beginning with those of `body`. Called once at most. */
  attach(sink: Sink): void;
  /** The sink can take more. */
  resume(): void;
  /** The client left. Only what comes soon is worth waiting for. */
  finishSoon(): void;
  /** Ends an answer that is not over yet: with a failure for the sink, or because its bytes are of no use any more. */
  cancel(failure?: Failure): void;
}

/** An answer of the gateway itself. */
export function jsonAnswer(value: object): Answer {
  return wholeAnswer(Buffer.from(JSON.stringify(value)));
}

/** The facts of a whole answer besides its bytes. */
interface WholeHead {
  readonly status?: number;
  readonly contentType?: string | undefined;
  readonly stream?: boolean;
}

/** An answer all of which is there; JSON, if nothing else is said. */
export function wholeAnswer(body: Buffer, head: WholeHead = {}): Answer {
  const { status = 200, contentType = 'application/json; charset=utf-8', stream = false } = head;
  return {
    status,
    contentType,
    contentLength: String(body.length),
    stream,
    framed: true,
    complete: true,
    isOwn: true,
    body: () => body,
    attach: (sink) => {
      sink.write(body);
      sink.end(undefined);
    },
    resume: () => undefined,
    finishSoon: () => undefined,
    cancel: () => undefined,
  };
}

/**
 * Sees an answer on its way to the client, and may change it. Taps are composed as undici composes interceptors: each wraps the sink
 * behind it, so that a chunk costs one call a tap.
 */
export interface Tap {
  /** All bytes at once: a whole body, or what had come when the client left before the head was written. Gives those that pass. */
  whole(body: Buffer): Buffer;
  /** The bytes will flow: gives the sink that takes them and passes them on to `next`. */
  open(next: Sink): Sink;
  /** The client left an open answer, and so many bytes have come since: whether reading on is worth it. */
  awaitsMore(drainedBytes: number): boolean;
}

/** Reads an answer for the gateway itself. Nothing of it throws: the client's answer does not hang on it. */
export interface AnswerReader {
  /** The bytes are used only during the call. */
  push(bytes: Buffer): void;
  /** All of the answer has come. */
  end(): void;
}

/** Shows an answer to a reader, once the client has its bytes, and changes nothing. */
export class WatchingTap implements Tap {
  readonly #openReader: () => AnswerReader;

  constructor(openReader: () => AnswerReader) {
    this.#openReader = openReader;
  }

  whole(body: Buffer): Buffer {
    const reader = this.#openReader();
    // The bytes may change behind this, and are read when they are written.
    const held = Buffer.from(body);
    setImmediate(() => {
      reader.push(held);
      reader.end();
    });
    return body;
  }

  open(next: Sink): Sink {
    return new WatchedSink(this.#openReader(), next);
  }

  awaitsMore(): boolean {
    return false;
  }
}

class WatchedSink implements Sink {
  readonly #reader: AnswerReader;
  readonly #next: Sink;

  constructor(reader: AnswerReader, next: Sink) {
    this.#reader = reader;
    this.#next = next;
  }

  write(chunk: Buffer): boolean {
    const isFlowing = this.#next.write(chunk);
    this.#reader.push(chunk);
    return isFlowing;
  }

  end(failure: Failure | undefined): void {
    this.#next.end(failure);
    if (failure === undefined) this.#reader.end();
  }
}

/** An answer that is another one under a plain head of unknown length: what it is made of overrides the rest. */
export class ReheadedAnswer implements Answer {
  readonly #answer: Answer;
  readonly contentLength = undefined;

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  get status(): number {
    return this.#answer.status;
  }

  get contentType(): string | undefined {
    return this.#answer.contentType;
  }

  get stream(): boolean {
    return this.#answer.stream;
  }

  get framed(): boolean {
    return this.#answer.framed;
  }

  get complete(): boolean {
    return this.#answer.complete;
  }

  body(): Buffer {
    return this.#answer.body();
  }

  attach(sink: Sink): void {
    this.#answer.attach(sink);
  }

  resume(): void {
    this.#answer.resume();
  }

  finishSoon(): void {
    this.#answer.finishSoon();
  }

  cancel(failure?: Failure): void {
    this.#answer.cancel(failure);
  }
}
