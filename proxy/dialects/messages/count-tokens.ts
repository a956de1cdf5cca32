// Counts the tokens of a prompt for a provider that cannot: /v1/messages/count_tokens.
import { estimateInput } from '../../tokens/estimate.ts';
import type { ConversationRequest } from '../conversation/conversation.ts';
import type { JsonObject } from '../json/json.ts';
import { readPrompt } from './read/read-request.ts';

/** Reads the request of a token count: a message without `max_tokens`. Throws an InvalidRequest. */
export function readCountRequest(body: JsonObject): ConversationRequest {
  return readPrompt(body);
}

/** The answer to a token count: tokens estimated from the bytes of `body`, at least 1. */
export function countedTokens(body: Buffer): JsonObject {
  return { input_tokens: Math.max(1, estimateInput(body)) };
}
