// Writes a whole answer for a client of chat.
import type { ConversationAnswer } from '../conversation/conversation.ts';
import type { JsonObject } from '../json/json.ts';
import { freeTextNames, restoreFreeText } from '../tools/free-text-tools.ts';
import type { AnswerContext } from '../translation.ts';
import { writeFinish } from './finish.ts';
import { writeUsage } from './read/read-usage.ts';
import { writeLogprobs, writeMessage } from './write-message.ts';

/** An answer as a chat completion, with one choice. */
export function writeAnswer(answer: ConversationAnswer, context: AnswerContext): JsonObject {
  const names = freeTextNames(context.request);
  const parts = answer.parts.map((part) => (part.kind === 'tool_call' ? restoreFreeText(part, names) : part));
  const isLegacy = speaksOfFunctions(context);
  const hasRefusal = parts.some(({ kind }) => kind === 'refusal');
  const choice: JsonObject = {
    index: 0,
    message: writeMessage(parts, isLegacy),
    logprobs: writeLogprobs(parts),
    finish_reason: writeFinish(answer.finish, hasRefusal, isLegacy),
    stop_sequence: answer.finish.stopSequence,
  };
  return {
    id: answer.id || `chatcmpl-${context.newId()}`,
    object: 'chat.completion',
    created: answer.createdAt ?? context.nowSeconds,
    model: answer.model || context.model,
    choices: [choice],
    usage: answer.usage === undefined ? undefined : writeUsage(answer.usage),
    service_tier: answer.serviceTier,
  };
}

/** The client offers `functions`, the older form, and not `tools`. */
export function speaksOfFunctions({ body }: AnswerContext): boolean {
  return Array.isArray(body['functions']) && !Array.isArray(body['tools']);
}
