// The tap nearest to the client of a response that can be asked for later: it reads in the client's bytes what is to be kept or remembered.
import type { Answer, Failure, Sink, Tap } from '../answer.ts';
import { HeldBytes } from '../bytes/held-bytes.ts';
import { isObject, type JsonObject, parseObject, textOf } from '../dialects/json.ts';
import { ServerEventSplitter } from '../dialects/server-events.ts';
import { InvalidAnswer, type RawEvent } from '../dialects/translation.ts';
import { decodeBody } from '../upstream/decode-body.ts';

/** What is done with the response of an answer. */
export interface ResponseTaker {
  /** Its id alone is needed, so a stream is read only until that is known. */
  readonly needsOnlyId: boolean;
  /** Bytes of an answer that is longer are not held. */
  readonly mostBytes: number;
  /**
   * Called once at most, when the client's bytes are on their way: with the whole response, or with one that has its id. `bytes`: how
   * long it is.
   */
  take(response: JsonObject, bytes: number): void;
  /** The answer is too long, or cannot be read. */
  lost(): void;
}

/** So the first event of a stream names the response, and so those that hold all of it. */
const [withResponse, completed, incomplete] = ['"response"', 'response.completed', 'response.incomplete'];

export class ResponseTap implements Tap {
  readonly #answer: Pick<Answer, 'stream' | 'contentEncoding'>;
  readonly #taker: ResponseTaker;

  /** `answer`: as the client gets it. */
  constructor(answer: Pick<Answer, 'stream' | 'contentEncoding'>, taker: ResponseTaker) {
    this.#answer = answer;
    this.#taker = taker;
  }

  whole(body: Buffer): Buffer {
    const reader = this.#reader();
    // The bytes may change behind this, and are read when they are written.
    const held = Buffer.from(body);
    setImmediate(() => {
      reader.push(held);
      reader.end();
    });
    return body;
  }

  open(next: Sink): Sink {
    return new WatchedSink(this.#reader(), next);
  }

  awaitsMore(): boolean {
    return false;
  }

  #reader(): ResponseReader {
    const { stream, contentEncoding } = this.#answer;
    return stream ? new EventsReader(contentEncoding, this.#taker) : new BodyReader(contentEncoding, this.#taker);
  }
}

/** Reads the response in the bytes of an answer. Nothing here throws: the client's answer does not hang on it. */
interface ResponseReader {
  /** The bytes are used only during the call. */
  push(bytes: Buffer): void;
  /** All of the answer has come. */
  end(): void;
}

/** The client has its bytes first. */
class WatchedSink implements Sink {
  readonly #reader: ResponseReader;
  readonly #next: Sink;

  constructor(reader: ResponseReader, next: Sink) {
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

/** Of an answer that is one JSON object. */
class BodyReader implements ResponseReader {
  readonly #encoding: string | undefined;
  readonly #taker: ResponseTaker;
  readonly #held = new HeldBytes();
  #isLost = false;

  constructor(encoding: string | undefined, taker: ResponseTaker) {
    this.#encoding = encoding;
    this.#taker = taker;
  }

  push(bytes: Buffer): void {
    if (this.#isLost) return;
    if (this.#held.length + bytes.length <= this.#taker.mostBytes) {
      this.#held.add(this.#held.length === 0 ? Buffer.from(bytes) : bytes);
      return;
    }
    this.#isLost = true;
    this.#held.take();
    this.#taker.lost();
  }

  end(): void {
    if (this.#isLost) return;
    const body = decodeBody(this.#held.take(), this.#encoding, this.#taker.mostBytes);
    const response = parseObject(body.toString('utf8'));
    if (response === undefined) this.#taker.lost();
    else this.#taker.take(response, body.length);
  }
}

/** Of an event stream. */
class EventsReader implements ResponseReader {
  readonly #taker: ResponseTaker;
  readonly #splitter: ServerEventSplitter;
  #isOver = false;

  /** `encoding`: of a stream that could not be decoded on the way. */
  constructor(encoding: string | undefined, taker: ResponseTaker) {
    this.#taker = taker;
    this.#splitter = new ServerEventSplitter(taker.needsOnlyId ? [withResponse] : [completed, incomplete]);
    if (encoding !== undefined) this.#lose();
  }

  push(bytes: Buffer): void {
    if (!this.#isOver) this.#read(() => this.#splitter.push(bytes));
  }

  end(): void {
    if (!this.#isOver) this.#read(() => this.#splitter.end());
  }

  #read(events: () => readonly RawEvent[]): void {
    try {
      for (const { data } of events()) if (this.#take(data)) return;
    } catch (error) {
      if (!(error instanceof InvalidAnswer)) throw error;
      this.#lose();
    }
  }

  /** True: the response is known. */
  #take(data: string): boolean {
    const event = parseObject(data);
    const response = event?.['response'];
    if (!isObject(response)) return false;
    const { needsOnlyId } = this.#taker;
    const type = textOf(event?.['type']);
    if (!needsOnlyId && type !== completed && type !== incomplete) return false;
    this.#isOver = true;
    this.#taker.take(response, data.length);
    return true;
  }

  #lose(): void {
    this.#isOver = true;
    this.#taker.lost();
  }
}
