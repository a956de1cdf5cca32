// The answer that a stream makes, as it is kept and served as JSON.
import type { AttemptUsage } from '../../domain/records/usage.ts';
import type { CachedAnswer } from '../../store/cache/answer-cache.ts';
import type { Call } from '../call/call.ts';
import { foldFor } from '../capture/folds.ts';
import { StreamCapture, type StreamFacts } from '../capture/stream-capture.ts';
import type { Operation } from '../dialects/dialect.ts';
import { type JsonObject, writeJson } from '../dialects/json/json.ts';
import { isKeepableObject } from './keepable-answer.ts';

/** What is known of a stream when it is over. */
export interface EventFacts extends StreamFacts {
  readonly usage: AttemptUsage | undefined;
}

/** The answer of a stream that was read completely; undefined: it is none that may be kept. */
export function answerOfStream(stream: StreamCapture, operation: Operation, facts: EventFacts): Buffer | undefined {
  const answer = stream.isCut ? undefined : stream.answer(facts);
  if (answer === undefined || stream.isCut || !isKeepableObject(operation, answer)) return undefined;
  return Buffer.from(writeJson(withUsage(answer, operation, facts.usage)));
}

/** An answer is shorter than the events that told it, and what it has beside. Bytes. */
const roomBytes = 16 * 1024;

/** The same of its events. */
function answerOfEvents(events: Buffer, operation: Operation, facts: EventFacts): Buffer | undefined {
  const fold = foldFor(operation);
  if (fold === undefined) return undefined;
  const stream = new StreamCapture(fold, 2 * events.length + roomBytes);
  stream.push(events);
  return answerOfStream(stream, operation, facts);
}

/** A kept answer with JSON as its body, asked for by an equal request; undefined: its events make no answer that may be kept. */
export function asJson(
  kept: CachedAnswer,
  operation: Operation,
  { body: requestBody, model }: Pick<Call, 'body' | 'model'>,
): CachedAnswer | undefined {
  if (kept.isEvents !== true) return kept;
  const { storedAtMs, expiresAtMs, facts } = kept;
  const told = { requestBody, model, nowMs: storedAtMs, usage: facts.usage };
  const body = answerOfEvents(kept.body, operation, told);
  return body && { storedAtMs, expiresAtMs, facts, body };
}

/** The event that told the usage of the stream may have been for the gateway alone. */
function withUsage(answer: JsonObject, operation: Operation, usage: AttemptUsage | undefined): JsonObject {
  const isChat = operation === 'chat' || operation === 'chat_of_input' || operation === 'completions';
  if (!isChat || answer['usage'] !== undefined || usage?.source !== 'reported') return answer;
  const { input_tokens, output_tokens, total_tokens, cached_input_tokens, reasoning_tokens } = usage;
  return {
    ...answer,
    usage: {
      prompt_tokens: input_tokens,
      completion_tokens: output_tokens,
      total_tokens,
      ...(cached_input_tokens === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached_input_tokens } }),
      ...(reasoning_tokens === undefined ? {} : { completion_tokens_details: { reasoning_tokens } }),
    },
  };
}
