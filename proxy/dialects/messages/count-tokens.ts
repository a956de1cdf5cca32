// Counts the tokens of a prompt for a provider that cannot: /v1/messages/count_tokens.
import { estimateInput } from '../../tokens/estimate.ts';
import type { ConversationRequest } from '../conversation/conversation.ts';
import type { JsonObject } from '../json/json.ts';
import { readPrompt } from './read/read-request.ts';

/** The prompt, checked as that of a message, but that it needs no `max_tokens`. Throws an InvalidRequest. */
export function readCountRequest(body: JsonObject): ConversationRequest {
  return readPrompt(body);
}

/** The answer for a body whose bytes are these: an estimate, at least 1. */
export function countedTokens(body: Buffer): JsonObject {
  return { input_tokens: Math.max(1, estimateInput(body)) };
}
