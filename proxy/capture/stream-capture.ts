// An event stream on its way into an audit entry or the cache: each event is folded as it comes, so that a long stream takes no more memory than what it says.
import { randomId } from '../../domain/random-id.ts';
import { type JsonObject, parseObject } from '../dialects/json/json.ts';
import { ServerEventSplitter } from '../dialects/server-events.ts';
import { type AnswerContext, InvalidAnswer, type RawEvent } from '../dialects/translation.ts';
import { nothingAsked, type StreamFold } from './stream-fold.ts';

/** Room for the members of an answer around its content. Characters. */
const frameLength = 1024;
/** Responses says each text up to four times, and the settings of the request twice: times what is recorded. */
const mostSilent = 8;
/** Writers look into a request for two things: the older form of tools, and settings that a response repeats. */
const lookedFor = ['"functions"', '"input"'].map((name) => Buffer.from(name));

/** Facts that are known when the stream is over. */
export interface StreamFacts {
  readonly requestBody: Buffer | undefined;
  readonly model: string;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

export class StreamCapture {
  readonly #fold: StreamFold;
  #splitter = new ServerEventSplitter();
  readonly #mostLength: number;
  readonly #mostBytes: number;
  #length = 0;
  /** Of an event whose end has not come. Bytes. */
  #unfinished = 0;
  /** Of events that told nothing: a reader may keep what they say. Characters. */
  #silent = 0;
  #isOver = false;
  #failure: unknown;
  /** More has come than fits. */
  isCut = false;

  /** `mostBytes`: of the answer that is recorded. */
  constructor(fold: StreamFold, mostBytes: number) {
    this.#fold = fold;
    this.#mostBytes = mostBytes;
    this.#mostLength = Math.max(mostBytes - frameLength, mostBytes / 2);
  }

  /** About what it holds. Bytes. */
  get length(): number {
    return this.#length + this.#unfinished;
  }

  /** The bytes are used only during the call. */
  push(bytes: Buffer): void {
    if (!this.#isOver) this.#read(() => this.#split(bytes));
  }

  /** Nothing more is taken. */
  stop(): void {
    this.#isOver = true;
    this.isCut = true;
    this.#unfinished = 0;
    this.#splitter = new ServerEventSplitter();
  }

  /** The JSON of the answer, as far as it has come; undefined: nothing of one. Throws what failed unexpectedly before, and spared the client. */
  json(facts: StreamFacts): string | undefined {
    const answer = this.answer(facts);
    return answer && JSON.stringify(answer);
  }

  /** The answer, as far as it has come, as an object; undefined: nothing of one. */
  answer({ requestBody, model, nowMs }: StreamFacts): JsonObject | undefined {
    if (!this.#isOver) this.#read(() => this.#splitter.end());
    const context: AnswerContext = {
      model,
      nowSeconds: Math.floor(nowMs / 1000),
      newId: randomId,
      request: { ...nothingAsked, dialect: 'chat' },
      get body() {
        return requestBody !== undefined && lookedFor.some((name) => requestBody.includes(name))
          ? (parseObject(requestBody.toString('utf8')) ?? {})
          : {};
      },
    };
    if (this.#failure !== undefined) throw this.#failure;
    try {
      return this.#fold.answer(context);
    } catch (error) {
      if (!(error instanceof InvalidAnswer)) throw error;
      return undefined;
    }
  }

  #split(bytes: Buffer): readonly RawEvent[] {
    const events = this.#splitter.push(bytes);
    this.#unfinished = events.length > 0 ? 0 : this.#unfinished + bytes.length;
    return events;
  }

  #read(events: () => readonly RawEvent[]): void {
    try {
      for (const event of events()) {
        const length = this.#fold.add(event);
        this.#length += length;
        if (length === 0) this.#silent += event.data.length;
        if (this.#length > this.#mostLength || this.#silent > mostSilent * this.#mostBytes) {
          this.stop();
          return;
        }
      }
      if (this.#unfinished > this.#mostBytes) this.stop();
    } catch (error) {
      // An invalid event ends the record here. Another error is thrown when the client has all of the stream.
      this.#isOver = true;
      if (!(error instanceof InvalidAnswer)) this.#failure = error;
    }
  }
}
