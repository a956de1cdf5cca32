// Reads a whole answer. Its message is read like a stream of one chunk, so that both tell the same.

import type { ConversationAnswer } from '../../conversation/conversation.ts';
import { AnswerFold } from '../../conversation/fold-events.ts';
import { isObject, type JsonObject, listOf, objectOf, textOf } from '../../json/json.ts';
import { InvalidAnswer } from '../../translation.ts';
import { isFailure } from '../broken-answer.ts';
import { ChunkReader, firstChoice } from './read-events.ts';

/** Throws an InvalidAnswer when it has no message, or tells of an error. */
export function readAnswer(body: JsonObject): ConversationAnswer {
  if (isFailure(undefined, body)) throw new InvalidAnswer('it tells of an error');
  const choice = firstChoice(body);
  const message = objectOf(choice?.['message']);
  if (choice === undefined || message === undefined) throw new InvalidAnswer('it has no choice with a message');
  const reader = new ChunkReader();
  const fold = new AnswerFold();
  const calls = numberedCalls(message);
  const whole = calls ? { ...body, choices: [{ ...choice, message: { ...message, tool_calls: calls } }] } : body;
  for (const event of reader.readBody(whole)) fold.add(event);
  for (const event of reader.read({ event: undefined, data: '[DONE]' })) fold.add(event);
  if (fold.failure !== undefined) throw new InvalidAnswer('the provider broke it off');
  const serviceTier = textOf(body['service_tier']);
  return serviceTier === undefined ? fold.answer() : { ...fold.answer(), serviceTier };
}

/** The calls with their places, because several may have the same id. */
function numberedCalls(message: JsonObject): readonly JsonObject[] | undefined {
  return listOf(message['tool_calls'])
    ?.filter(isObject)
    .map((call, index) => ({ ...call, index }));
}
