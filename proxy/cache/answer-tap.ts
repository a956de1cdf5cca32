// The tap that takes an answer for the cache as it goes to its client: bytes of JSON as they are, a stream as the answer that it makes.
import type { Answer, Sink, Tap } from '../answer.ts';
import { HeldBytes } from '../bytes/held-bytes.ts';
import { BoundedBytes } from '../capture/bounded-bytes.ts';
import type { CaptureBudget, CaptureRoom } from '../capture/capture-budget.ts';
import { CapturedSink } from '../capture/captured-sink.ts';
import { foldFor } from '../capture/folds.ts';
import { StreamCapture, type StreamFacts } from '../capture/stream-capture.ts';
import type { Operation } from '../dialects/dialect.ts';
import { type JsonObject, writeJson } from '../dialects/json.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import { isKeepable, isKeepableObject } from './keepable-answer.ts';

/** So much of a stream is read at once. */
const readBytes = 16 * 1024;

/** What is known of an answer when it is over. */
export interface AnswerFacts extends StreamFacts {
  readonly usage: TokenUsage | undefined;
}

export class AnswerTap implements Tap {
  readonly #operation: Operation;
  readonly #budget: CaptureBudget;
  readonly #mostBytes: number;
  #room: CaptureRoom | undefined;
  #stream: StreamCapture | undefined;
  /** Of a stream, what has not been read; undefined: it is none. */
  #unread: HeldBytes | undefined;
  readonly #isStream: boolean;
  #whole: Buffer | undefined;
  #passing: BoundedBytes | undefined;

  /** `mostBytes`: of an answer that is kept. */
  constructor(answer: Pick<Answer, 'stream'>, operation: Operation, budget: CaptureBudget, mostBytes: number) {
    this.#operation = operation;
    this.#budget = budget;
    this.#mostBytes = mostBytes;
    this.#isStream = answer.stream;
  }

  whole(body: Buffer): Buffer {
    this.#whole = body;
    return body;
  }

  open(next: Sink): Sink {
    const room = this.#budget.open(this.#mostBytes);
    this.#room = room;
    const fold = this.#isStream ? foldFor(this.#operation) : undefined;
    if (fold !== undefined) {
      const stream = new StreamCapture(fold, this.#mostBytes);
      const unread = new HeldBytes();
      this.#stream = stream;
      this.#unread = unread;
      return new CapturedSink(next, (chunk) => takePiece(chunk, unread, stream, room));
    }
    const passing = new BoundedBytes(room, this.#mostBytes);
    this.#passing = passing;
    return new CapturedSink(next, (chunk) => passing.add(chunk));
  }

  awaitsMore(): boolean {
    return false;
  }

  /** The answer, which is over and came completely, as it may be kept; undefined: it may not, or is too long. */
  answer(facts: AnswerFacts): Buffer | undefined {
    const bytes = this.#stream === undefined ? this.#bytes() : this.#folded(this.#stream, facts);
    return bytes !== undefined && bytes.length <= this.#mostBytes ? bytes : undefined;
  }

  /** Gives the memory back. Again does nothing. */
  release(): void {
    this.#room?.release();
  }

  #bytes(): Buffer | undefined {
    const bytes = this.#passing?.isCut === true ? undefined : (this.#passing?.bytes ?? this.#whole);
    if (bytes === undefined || bytes.length > this.#mostBytes) return undefined;
    return isKeepable(this.#operation, bytes) ? bytes : undefined;
  }

  #folded(stream: StreamCapture, facts: AnswerFacts): Buffer | undefined {
    if (this.#unread !== undefined && this.#unread.length > 0) stream.push(this.#unread.take());
    const answer = stream.isCut ? undefined : stream.answer(facts);
    if (answer === undefined || stream.isCut || !isKeepableObject(this.#operation, answer)) return undefined;
    return Buffer.from(writeJson(withUsage(answer, this.#operation, facts.usage)));
  }
}

/** Pieces are read together: each by itself costs as much as what it says. */
function takePiece(chunk: Buffer, unread: HeldBytes, stream: StreamCapture, room: CaptureRoom): void {
  if (stream.isCut) return;
  unread.add(unread.length === 0 ? Buffer.from(chunk) : chunk);
  if (!room.hasFor(stream.length + unread.length)) stream.stop();
  else if (unread.length >= readBytes) stream.push(unread.take());
}

/** The event that told the usage of the stream may have been for the gateway alone. */
function withUsage(answer: JsonObject, operation: Operation, usage: TokenUsage | undefined): JsonObject {
  const isChat = operation === 'chat' || operation === 'chat_of_input' || operation === 'completions';
  if (!isChat || answer['usage'] !== undefined || usage?.source !== 'reported') return answer;
  const { inputTokens, outputTokens, totalTokens, cachedInputTokens, reasoningTokens } = usage;
  return {
    ...answer,
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: totalTokens,
      ...(cachedInputTokens === undefined ? {} : { prompt_tokens_details: { cached_tokens: cachedInputTokens } }),
      ...(reasoningTokens === undefined ? {} : { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
    },
  };
}
