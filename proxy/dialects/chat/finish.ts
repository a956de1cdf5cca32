// Why a model stopped, in the words of chat.
import type { Finish } from '../conversation/conversation.ts';
import { type JsonObject, textOf } from '../json/json.ts';

/** The contents of an answer that decide its finish reason. */
export interface Shown {
  readonly hasCalls: boolean;
  readonly hasRefusal: boolean;
}

/**
 * The finish of an answer by its choice. Some servers send `stop` or nothing where tools were called, so the calls
 * decide. vLLM and others name the stop text that was reached.
 */
export function readFinish(choice: JsonObject | undefined, { hasCalls, hasRefusal }: Shown): Finish {
  const reason = textOf(choice?.['finish_reason']);
  if (reason === 'length' || reason === 'max_tokens' || reason === 'model_length') return { reason: 'length' };
  if (reason === 'content_filter') return { reason: hasRefusal ? 'refusal' : 'filtered' };
  if (hasCalls) return { reason: 'tool_calls' };
  if (hasRefusal) return { reason: 'refusal' };
  const stopSequence = textOf(choice?.['stop_sequence']) ?? textOf(choice?.['stop_reason']);
  return stopSequence === undefined || stopSequence === ''
    ? { reason: 'stop' }
    : { reason: 'stop_sequence', stopSequence };
}

/** `finish_reason` for a client. `isLegacy`: it speaks of `functions`. */
export function writeFinish({ reason }: Finish, hasRefusal: boolean, isLegacy: boolean): string {
  if (reason === 'length') return 'length';
  if (reason === 'tool_calls') return isLegacy ? 'function_call' : 'tool_calls';
  if (reason === 'filtered' || (reason === 'refusal' && !hasRefusal)) return 'content_filter';
  return 'stop';
}
