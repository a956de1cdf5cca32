// The tap that takes an answer for the cache as it goes to its client: bytes of JSON as they are, a stream as the answer that it tells.
import type { Answer, Sink, Tap } from '../answer.ts';
import { BoundedBytes } from '../capture/bounded-bytes.ts';
import type { CaptureBudget, CaptureRoom } from '../capture/capture-budget.ts';
import { CapturedSink } from '../capture/captured-sink.ts';
import { foldFor } from '../capture/folds.ts';
import { StreamCapture, type StreamFacts } from '../capture/stream-capture.ts';
import type { Operation } from '../dialects/dialect.ts';
import { attemptUsage } from '../tokens/attempt-usage.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import { answerOfStream } from './answer-of-stream.ts';
import { isKeepable } from './keepable-answer.ts';

/** Facts that are known when the answer is over. */
export interface AnswerFacts extends StreamFacts {
  readonly usage: TokenUsage | undefined;
}

export interface TapOptions {
  readonly operation: Operation;
  readonly budget: CaptureBudget;
  /** Of an answer that is kept. */
  readonly mostBytes: number;
}

export class AnswerTap implements Tap {
  readonly #options: TapOptions;
  readonly #isStream: boolean;
  #room: CaptureRoom | undefined;
  #whole: Buffer | undefined;
  #passing: BoundedBytes | undefined;
  #stream: StreamCapture | undefined;

  constructor(answer: Pick<Answer, 'stream'>, options: TapOptions) {
    this.#options = options;
    this.#isStream = answer.stream;
  }

  whole(body: Buffer): Buffer {
    if (!this.#isStream) this.#whole = body;
    return body;
  }

  open(next: Sink): Sink {
    const { operation, budget, mostBytes } = this.#options;
    const room = budget.open(mostBytes);
    this.#room = room;
    const fold = this.#isStream ? foldFor(operation) : undefined;
    if (fold === undefined) {
      const passing = new BoundedBytes(room, mostBytes);
      this.#passing = passing;
      return new CapturedSink(next, (chunk) => passing.add(chunk));
    }
    const stream = new StreamCapture(fold, mostBytes);
    this.#stream = stream;
    return new CapturedSink(next, (chunk) => {
      if (room.hasFor(stream.length + chunk.length)) stream.push(chunk);
      else stream.stop();
    });
  }

  awaitsMore(): boolean {
    return false;
  }

  /** The answer, which is over and came completely, as JSON; undefined: it may not be kept, or is too long. */
  answer({ usage, ...facts }: AnswerFacts): Buffer | undefined {
    const { operation, mostBytes } = this.#options;
    const told = { ...facts, usage: usage && attemptUsage(usage, undefined) };
    const taken = this.#stream === undefined ? this.#bytes() : answerOfStream(this.#stream, operation, told);
    return taken !== undefined && taken.length <= mostBytes ? taken : undefined;
  }

  /** Gives the memory back. Again does nothing. */
  release(): void {
    this.#room?.release();
  }

  #bytes(): Buffer | undefined {
    const bytes = this.#passing?.isCut === true ? undefined : (this.#passing?.bytes ?? this.#whole);
    const { operation, mostBytes } = this.#options;
    return bytes !== undefined && bytes.length <= mostBytes && isKeepable(operation, bytes) ? bytes : undefined;
  }
}
