// Why a model stopped, in Anthropic's words and in the conversation's.
import type { Finish, FinishReason } from '../conversation/conversation.ts';
import { type JsonValue, textOf } from '../json/json.ts';

const reasons: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop_sequence'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'refusal'],
  ['pause_turn', 'paused'],
]);

const words: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  stop_sequence: 'stop_sequence',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  refusal: 'refusal',
  filtered: 'refusal',
  paused: 'pause_turn',
};

/** A reason that is not known counts as done. */
export function readFinish(reason: JsonValue | undefined, sequence: JsonValue | undefined): Finish {
  const stopSequence = textOf(sequence);
  return {
    reason: reasons.get(textOf(reason) ?? '') ?? 'stop',
    ...(stopSequence === undefined ? {} : { stopSequence }),
  };
}

/** `callsTool`: the answer calls a tool, which Anthropic's clients learn from the reason. */
export function writeFinish({ reason, stopSequence }: Finish, callsTool: boolean) {
  const stop_reason = callsTool && reason === 'stop' ? words.tool_calls : words[reason];
  return { stop_reason, stop_sequence: reason === 'stop_sequence' ? (stopSequence ?? null) : null };
}
