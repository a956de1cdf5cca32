// A stream → the JSON of the answer that it tells: so it is kept.
import type { AttemptUsage } from '../../domain/records/usage.ts';
import type { StreamCapture, StreamFacts } from '../capture/stream-capture.ts';
import type { Operation } from '../dialects/dialect.ts';
import { type JsonObject, writeJson } from '../dialects/json/json.ts';
import { isKeepableObject } from './keepable-answer.ts';

/** Facts that are known when the stream is over. */
export interface EventFacts extends StreamFacts {
  readonly usage: AttemptUsage | undefined;
}

/** The answer of a stream that was read completely; undefined: it is none that may be kept. */
export function answerOfStream(stream: StreamCapture, operation: Operation, facts: EventFacts): Buffer | undefined {
  const answer = stream.isCut ? undefined : stream.answer(facts);
  if (answer === undefined || stream.isCut || !isKeepableObject(operation, answer)) return undefined;
  return Buffer.from(writeJson(withUsage(answer, operation, facts.usage)));
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
