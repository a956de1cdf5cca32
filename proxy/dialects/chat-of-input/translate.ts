// Chat completions that are asked for in the words of Responses: with `input` in place of `messages`. Agents of IDEs that know one endpoint
// alone do that, and read chunks of chat. No provider is asked so.
import { chatTranslation } from '../chat/translate.ts';
import type { ConversationRequest } from '../conversation/conversation.ts';
import { isObject, type JsonObject, type JsonValue } from '../json/json.ts';
import { optionalFlag, optionalList, optionalObject } from '../json/members.ts';
import { flatRequest } from '../responses/flat-request.ts';
import { readRequest } from '../responses/read/read-request.ts';
import type { ClientDialect } from '../translation.ts';

export const chatOfInput: ClientDialect = { ...chatTranslation, readRequest: readMixed, forOthers: flatRequest };

/** Throws an InvalidRequest. Of two members that say the same, the one of Responses counts. */
function readMixed(body: JsonObject): ConversationRequest {
  const {
    stream_options: options,
    max_tokens: maxTokens,
    max_completion_tokens: maxOutput = maxTokens,
    reasoning_effort: effort,
    ...own
  } = body;
  const said = optionalObject({ stream_options: options ?? null }, 'stream_options') ?? {};
  const request = readRequest({
    ...(maxOutput === undefined ? {} : { max_output_tokens: maxOutput }),
    ...(effort === undefined ? {} : { reasoning: { effort } }),
    ...own,
    ...(own['tools'] === undefined ? {} : { tools: optionalList(own, 'tools')?.map(flattened) ?? null }),
  });
  const wantsUsage = optionalFlag(said, 'include_usage', 'stream_options') ?? false;
  return { ...request, wantsUsage, keepsAnswers: false };
}

/** Some send a part of their tools nested, as chat has them. */
function flattened(tool: JsonValue): JsonValue {
  if (!isObject(tool) || tool['type'] !== 'function' || !isObject(tool['function'])) return tool;
  return { type: 'function', ...tool['function'] };
}
