// Writes an answer as a text completion: what it says, and nothing else of it.
import { writeFinish } from '../chat/finish.ts';
import { writeUsage } from '../chat/read/read-usage.ts';
import type { ConversationAnswer } from '../conversation/conversation.ts';
import type { JsonObject } from '../json/json.ts';
import type { AnswerContext } from '../translation.ts';

/** An answer as a text completion. Only texts and refusals can be written. */
export function writeAnswer(answer: ConversationAnswer, context: AnswerContext): JsonObject {
  const text = answer.parts.flatMap((part) => (part.kind === 'text' || part.kind === 'refusal' ? [part.text] : []));
  return {
    id: answer.id || `cmpl-${context.newId()}`,
    object: 'text_completion',
    created: answer.createdAt ?? context.nowSeconds,
    model: answer.model || context.model,
    choices: [
      { text: text.join(''), index: 0, logprobs: null, finish_reason: writeFinish(answer.finish, true, false) },
    ],
    usage: answer.usage === undefined ? undefined : writeUsage(answer.usage),
  };
}
