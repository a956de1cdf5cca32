// Reads the JSON answer of Converse. It names neither itself nor its model.
import type { ConversationAnswer, Finish, FinishReason } from '../conversation/conversation.ts';
import { type JsonObject, type JsonValue, listOf, objectOf, textOf } from '../json/json.ts';
import { InvalidAnswer } from '../translation.ts';
import { readBlock } from './read-blocks.ts';
import { readUsage } from './read-usage.ts';

const reasons: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop_sequence'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['guardrail_intervened', 'filtered'],
  ['content_filtered', 'filtered'],
  ['refusal', 'refusal'],
  ['pause_turn', 'paused'],
]);

/** Throws an InvalidAnswer. */
export function readAnswer(body: JsonObject): ConversationAnswer {
  const message = objectOf(objectOf(body['output'])?.['message']);
  const content = listOf(message?.['content']);
  if (content === undefined) throw new InvalidAnswer('it has no message');
  const parts = content.flatMap((value) => {
    const block = objectOf(value);
    if (block === undefined) throw new InvalidAnswer('a block of its content is no object');
    return readBlock(block) ?? [];
  });
  return {
    id: '',
    model: '',
    parts,
    finish: readFinish(
      body,
      parts.some(({ kind }) => kind === 'tool_call'),
    ),
    usage: readUsage(body['usage']),
    serviceTier: textOf(objectOf(body['serviceTier'])?.['type']),
  };
}

/** Of an answer or of the event that ends one. A model that calls tools has stopped for them, also where it says that it is done. */
export function readFinish(body: JsonObject, hasCalls: boolean): Finish {
  const said = reasons.get(textOf(body['stopReason']) ?? '') ?? 'stop';
  const reason = said === 'stop' && hasCalls ? 'tool_calls' : said;
  return {
    reason,
    stopSequence: reason === 'stop_sequence' ? stopSequenceOf(body['additionalModelResponseFields']) : undefined,
  };
}

/** The writer of requests asks for it. */
function stopSequenceOf(fields: JsonValue | undefined): string | undefined {
  return textOf(objectOf(fields)?.['stop_sequence']);
}
