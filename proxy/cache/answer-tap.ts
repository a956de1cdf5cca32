// The tap that takes an answer for the cache as it goes to its client: bytes of JSON as they are, a stream as its events, or as the answer
// that it makes where these are many.
import type { Answer, Sink, Tap } from '../answer.ts';
import { HeldBytes } from '../bytes/held-bytes.ts';
import { BoundedBytes } from '../capture/bounded-bytes.ts';
import type { CaptureBudget, CaptureRoom } from '../capture/capture-budget.ts';
import { CapturedSink } from '../capture/captured-sink.ts';
import { compactEvents } from '../capture/compact-events.ts';
import { foldFor } from '../capture/folds.ts';
import { type RunningText, runningBehind } from '../capture/running-text.ts';
import { StreamCapture, type StreamFacts } from '../capture/stream-capture.ts';
import type { Operation } from '../dialects/dialect.ts';
import { attemptUsage } from '../tokens/attempt-usage.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import { answerOfStream } from './answer-of-events.ts';
import { areWholeChat, isKeepable, isWholeChat } from './keepable-answer.ts';

/** So much of a stream is read at once; at first so little, to know what its events are like. */
const readBytes = { first: 1024, most: 16 * 1024 };
/** Events that are kept as they are: fewer bytes than this. */
const mostEventBytes = 16 * 1024;

/** What is known of an answer when it is over. */
export interface AnswerFacts extends StreamFacts {
  readonly usage: TokenUsage | undefined;
}

/** An answer as it may be kept; a text has one character a byte. */
export interface TakenAnswer {
  readonly body: Buffer | string;
  readonly isEvents: boolean;
}

export interface TapOptions {
  readonly operation: Operation;
  readonly budget: CaptureBudget;
  /** Of an answer that is kept. */
  readonly mostBytes: number;
  /** Short streams may be kept as their events. */
  readonly keepsEvents: boolean;
}

export class AnswerTap implements Tap {
  readonly #options: TapOptions;
  readonly #isStream: boolean;
  #room: CaptureRoom | undefined;
  #whole: Buffer | undefined;
  #passing: BoundedBytes | undefined;
  #events: TakenEvents | undefined;

  constructor(answer: Pick<Answer, 'stream'>, options: TapOptions) {
    this.#options = options;
    this.#isStream = answer.stream;
  }

  whole(body: Buffer): Buffer {
    this.#whole = body;
    return body;
  }

  open(next: Sink): Sink {
    const { operation, budget, mostBytes } = this.#options;
    const room = budget.open(mostBytes);
    this.#room = room;
    if (this.#isStream && foldFor(operation) !== undefined) {
      const events = new TakenEvents(this.#options, room);
      this.#events = events;
      return new CapturedSink(next, (chunk) => events.take(chunk));
    }
    const passing = new BoundedBytes(room, mostBytes);
    this.#passing = passing;
    return new CapturedSink(next, (chunk) => passing.add(chunk));
  }

  awaitsMore(): boolean {
    return false;
  }

  /** The answer, which is over and came completely, as it may be kept; undefined: it may not, or is too long. */
  answer(facts: AnswerFacts): TakenAnswer | undefined {
    const taken = this.#events === undefined ? this.#bytes() : this.#events.answer(facts);
    return taken !== undefined && taken.body.length <= this.#options.mostBytes ? taken : undefined;
  }

  /** Gives the memory back. Again does nothing. */
  release(): void {
    this.#room?.release();
  }

  #bytes(): TakenAnswer | undefined {
    const { operation, mostBytes } = this.#options;
    const bytes = this.#passing?.isCut === true ? undefined : (this.#passing?.bytes ?? this.#whole);
    if (bytes === undefined || bytes.length > mostBytes) return undefined;
    if (!isOfChat(operation)) return isKeepable(operation, bytes) ? { body: bytes, isEvents: false } : undefined;
    const text = bytes.toString('latin1');
    return isWholeChat(text) ? { body: text, isEvents: false } : undefined;
  }
}

/** What a stream has said so far: the text of its events while they are few, or else the answer that they make. */
class TakenEvents {
  readonly #options: TapOptions;
  readonly #room: CaptureRoom;
  readonly #unread = new HeldBytes();
  #text = '';
  /** What comes behind the text, as long as its events are like the last one there. */
  #running: RunningText | undefined;
  #readAt = readBytes.first;
  /** Undefined: they are few. */
  #fold: StreamCapture | undefined;

  constructor(options: TapOptions, room: CaptureRoom) {
    this.#options = options;
    this.#room = room;
    if (!options.keepsEvents || !isOfChat(options.operation)) this.#folded();
  }

  /** Pieces are read together: each by itself costs as much as what it says. */
  take(chunk: Buffer): void {
    const fold = this.#fold;
    if (fold?.isCut === true) return;
    if (fold === undefined) this.#keep(chunk);
    const held = fold === undefined ? this.#heldBytes : fold.length + chunk.length;
    if (!this.#room.hasFor(held)) this.#folded().stop();
    else if (fold !== undefined) fold.push(chunk);
    else if (this.#unread.length >= this.#readAt || held > mostEventBytes + readBytes.most) this.#read();
  }

  get #heldBytes(): number {
    return this.#text.length + (this.#running?.length ?? 0) + this.#unread.length;
  }

  #keep(chunk: Buffer): void {
    const unread = this.#unread;
    const taken = unread.length === 0 ? (this.#running?.take(chunk) ?? 0) : 0;
    if (taken === chunk.length) return;
    const rest = taken === 0 ? chunk : chunk.subarray(taken);
    unread.add(unread.length === 0 ? Buffer.from(rest) : rest);
  }

  answer(facts: AnswerFacts): TakenAnswer | undefined {
    this.#read();
    const text = this.#text;
    if (this.#fold === undefined && text.length <= this.#options.mostBytes && areWholeChat(text))
      return { body: text, isEvents: true };
    const { usage, ...rest } = facts;
    const told = { ...rest, usage: usage && attemptUsage(usage, undefined) };
    const body = answerOfStream(this.#folded(), this.#options.operation, told);
    return body && { body, isEvents: false };
  }

  #read(): void {
    const told = `${this.#running?.event() ?? ''}${this.#unread.take().toString('latin1')}`;
    if (told === '') return;
    this.#text = compactEvents(this.#text + told);
    if (this.#text.length > mostEventBytes) this.#folded();
    else this.#running = runningBehind(this.#text);
    this.#readAt = Math.min(2 * this.#readAt, readBytes.most);
  }

  /** What folds the rest of the stream; it has what came before. */
  #folded(): StreamCapture {
    if (this.#fold !== undefined) return this.#fold;
    const { operation, mostBytes } = this.#options;
    const made = foldFor(operation);
    if (made === undefined) throw new Error(`no stream of ${operation} makes an answer`);
    const fold = new StreamCapture(made, mostBytes);
    fold.push(Buffer.from(this.#text, 'latin1'));
    this.#text = '';
    this.#running = undefined;
    this.#fold = fold;
    return fold;
  }
}

function isOfChat(operation: Operation): boolean {
  return operation === 'chat' || operation === 'chat_of_input' || operation === 'completions';
}
