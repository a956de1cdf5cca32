// The tap nearest to the client of a response that can be asked for later: it reads in the client's bytes what is to be kept or remembered.
import { type Answer, type AnswerReader, type Tap, WatchingTap } from '../../answer.ts';
import { HeldBytes } from '../../bytes/held-bytes.ts';
import { isObject, type JsonObject, parseObject, textOf } from '../../dialects/json/json.ts';
import { ServerEventSplitter } from '../../dialects/server-events.ts';
import { InvalidAnswer, type RawEvent } from '../../dialects/translation.ts';
import { parsedObject } from '../../http/parsed-body.ts';
import { atOnce, inSlices, shortBytes } from '../../pacing/slices.ts';

/** The receiver of the response in an answer. */
export interface ResponseTaker {
  /** Its id alone is needed, so a stream is read only until that is known. */
  readonly needsOnlyId: boolean;
  /** Bytes of an answer that is longer are not held. */
  readonly mostBytes: number;
  /**
   * Called once at most, when the client's bytes are on their way: with the whole response, or with one that has its id. `bytes`: how
   * long it is. A promise where that takes longer.
   */
  take(response: JsonObject, bytes: number): void | Promise<void>;
  /** Runs, or does not run, what reads an answer of so many bytes in steps. Absent: it is run. */
  readLong?(bytes: number, read: () => Promise<void>): void;
  /** The answer is too long, or cannot be read. */
  lost(): void;
}

/** The texts in the first event of a stream, which names the response, and in the events that hold all of it. */
const [withResponse, completed, incomplete] = ['"response"', 'response.completed', 'response.incomplete'];

/** Gives the taker the response of an answer. `answer`: as the client gets it. */
export function responseTap({ stream }: Pick<Answer, 'stream'>, taker: ResponseTaker): Tap {
  return new WatchingTap(() => (stream ? new EventsReader(taker) : new BodyReader(taker)));
}

/** Of an answer that is one JSON object. */
class BodyReader implements AnswerReader {
  readonly #taker: ResponseTaker;
  readonly #held = new HeldBytes();
  #isLost = false;

  constructor(taker: ResponseTaker) {
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
    const body = this.#held.take();
    const work = parsedObject(body);
    if (body.length <= shortBytes) {
      void this.#told(atOnce(work), body.length);
      return;
    }
    const read = async (): Promise<void> => this.#told(await inSlices(work), body.length);
    if (this.#taker.readLong === undefined) void read();
    else this.#taker.readLong(body.length, read);
  }

  #told(response: JsonObject | undefined, bytes: number): void | Promise<void> {
    return response === undefined ? this.#taker.lost() : this.#taker.take(response, bytes);
  }
}

/** Of an event stream. */
class EventsReader implements AnswerReader {
  readonly #taker: ResponseTaker;
  readonly #splitter: ServerEventSplitter;
  #isOver = false;

  constructor(taker: ResponseTaker) {
    this.#taker = taker;
    this.#splitter = new ServerEventSplitter(taker.needsOnlyId ? [withResponse] : [completed, incomplete]);
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
    void this.#taker.take(response, data.length);
    return true;
  }

  #lose(): void {
    this.#isOver = true;
    this.#taker.lost();
  }
}
