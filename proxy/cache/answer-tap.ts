// The tap that takes an answer for the cache as it goes to its client: bytes of JSON as they are, a stream as the answer that it makes.
import type { Answer, Sink, Tap } from '../answer.ts';
import { BoundedBytes } from '../capture/bounded-bytes.ts';
import type { CaptureRoom } from '../capture/capture-budget.ts';
import { CapturedSink } from '../capture/captured-sink.ts';
import { foldFor } from '../capture/folds.ts';
import { StreamCapture, type StreamFacts } from '../capture/stream-capture.ts';
import type { Operation } from '../dialects/dialect.ts';
import { type JsonObject, writeJson } from '../dialects/json.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import { isKeepable, isKeepableObject } from './keepable-answer.ts';

/** What is known of an answer when it is over. */
export interface AnswerFacts extends StreamFacts {
  readonly usage: TokenUsage | undefined;
}

export class AnswerTap implements Tap {
  readonly #operation: Operation;
  readonly #room: CaptureRoom;
  readonly #mostBytes: number;
  readonly #stream: StreamCapture | undefined;
  #whole: Buffer | undefined;
  #passing: BoundedBytes | undefined;

  /** `mostBytes`: of an answer that is kept. */
  constructor(answer: Pick<Answer, 'stream'>, operation: Operation, room: CaptureRoom, mostBytes: number) {
    this.#operation = operation;
    this.#room = room;
    this.#mostBytes = mostBytes;
    const fold = answer.stream ? foldFor(operation) : undefined;
    this.#stream = fold && new StreamCapture(fold, mostBytes);
  }

  whole(body: Buffer): Buffer {
    this.#whole = body;
    return body;
  }

  open(next: Sink): Sink {
    const stream = this.#stream;
    if (stream !== undefined) {
      return new CapturedSink(next, (chunk) => {
        if (this.#room.hasFor(Math.min(stream.length + chunk.length, this.#mostBytes))) stream.push(chunk);
        else stream.stop();
      });
    }
    const passing = new BoundedBytes(this.#room, this.#mostBytes);
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
    this.#room.release();
  }

  #bytes(): Buffer | undefined {
    const bytes = this.#passing?.isCut === true ? undefined : (this.#passing?.bytes ?? this.#whole);
    if (bytes === undefined || bytes.length > this.#mostBytes) return undefined;
    return isKeepable(this.#operation, bytes) ? bytes : undefined;
  }

  #folded(stream: StreamCapture, facts: AnswerFacts): Buffer | undefined {
    const answer = stream.isCut ? undefined : stream.answer(facts);
    if (answer === undefined || stream.isCut || !isKeepableObject(this.#operation, answer)) return undefined;
    return Buffer.from(writeJson(withUsage(answer, this.#operation, facts.usage)));
  }
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
