// Why a Gemini model stopped, in the words of the conversation.
import type { FinishReason } from '../conversation/conversation.ts';

/** Reasons that are not named here mean that the model was done, or that nothing better is known (OTHER, RECITATION, MALFORMED_FUNCTION_CALL). */
const reasons: ReadonlyMap<string, FinishReason> = new Map([
  ['MAX_TOKENS', 'length'],
  ['SAFETY', 'filtered'],
  ['PROHIBITED_CONTENT', 'filtered'],
  ['BLOCKLIST', 'filtered'],
  ['SPII', 'filtered'],
  ['LANGUAGE', 'filtered'],
  ['MODEL_ARMOR', 'filtered'],
  ['IMAGE_SAFETY', 'filtered'],
  ['IMAGE_PROHIBITED_CONTENT', 'filtered'],
]);

/** `hasToolCall`: the answer calls a tool, for which Gemini has no reason of its own. */
export function readFinish(reason: string, hasToolCall: boolean): FinishReason {
  return reasons.get(reason) ?? (hasToolCall ? 'tool_calls' : 'stop');
}
