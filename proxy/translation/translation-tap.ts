// The tap that translates an answer on its way to the client, event by event, and knows what it cost.
import type { Failure, Sink, Tap } from '../answer.ts';
import type { ConversationAnswer } from '../dialects/conversation/conversation.ts';
import { writeJson } from '../dialects/json/json.ts';
import { ServerEventSplitter } from '../dialects/server-events.ts';
import { InvalidAnswer } from '../dialects/translation.ts';
import { atOnce } from '../pacing/slices.ts';
import type { MeasuredRequest } from '../tokens/measure.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import { readAnswer, writeAnswer } from './translated.ts';
import { type Streaming, TranslatedStream } from './translated-stream.ts';
import { TranslatedUsage } from './translated-usage.ts';

/** A usage event and what may come in front of it. Bytes. */
const mostDrainedBytes = 64 * 1024;
const nothing: Buffer = Buffer.alloc(0);

/** An answer, how it is translated, and for whom its tokens are counted. */
export interface Translating extends Streaming {
  /** The whole answer; undefined for a stream. */
  readonly read: ConversationAnswer | undefined;
  /**
   * The whole answer as bytes, events where a stream was asked for; undefined: it is short, and was not written yet.
   */
  readonly written?: Buffer | undefined;
  readonly asked: MeasuredRequest;
  /** Tokens are counted. */
  readonly readsUsage: boolean;
}

export class TranslationTap implements Tap {
  readonly #translating: Translating;
  readonly #usage: TranslatedUsage;

  constructor(translating: Translating) {
    this.#translating = translating;
    this.#usage = new TranslatedUsage(translating.asked);
  }

  /** When the client left before it was read, nothing passes, and what has come is measured. */
  whole(body: Buffer): Buffer {
    const { read, written, translated, nowMs } = this.#translating;
    if (read === undefined) {
      this.#measure(body);
      return nothing;
    }
    this.#usage.noteAnswer(read);
    return written ?? Buffer.from(writeJson(writeAnswer(translated, read, nowMs)));
  }

  #measure(body: Buffer): void {
    const { answer, translated } = this.#translating;
    const { dialect } = translated;
    try {
      if (!answer.stream) {
        this.#usage.noteAnswer(atOnce(readAnswer(translated, body)));
        return;
      }
      const splitter = dialect.eventSplitter?.() ?? new ServerEventSplitter();
      const reader = dialect.eventReader();
      for (const event of splitter.push(body)) for (const told of reader.read(event)) this.#usage.note(told);
    } catch (error) {
      // Of a part of an answer no sense can be made; then what was asked is all that counts.
      if (!(error instanceof InvalidAnswer)) throw error;
    }
  }

  open(next: Sink): Sink {
    const { read, written } = this.#translating;
    if (read === undefined || written === undefined) return new TranslatedStream(this.#translating, this.#usage, next);
    this.#usage.noteAnswer(read);
    return new WrittenStream(written, next);
  }

  awaitsMore(drainedBytes: number): boolean {
    return this.#usage.awaitsUsage && drainedBytes <= mostDrainedBytes;
  }

  usage(): TokenUsage | undefined {
    return this.#translating.readsUsage ? this.#usage.usage() : undefined;
  }
}

/** A whole answer that became a stream: what the provider said was read before. */
class WrittenStream implements Sink {
  readonly #written: Buffer;
  readonly #next: Sink;

  constructor(written: Buffer, next: Sink) {
    this.#written = written;
    this.#next = next;
  }

  write(): boolean {
    return true;
  }

  end(failure: Failure | undefined): void {
    if (failure === undefined) this.#next.write(this.#written);
    this.#next.end(failure);
  }
}
