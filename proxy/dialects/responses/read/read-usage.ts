// The usage of the Responses format, read and written: cached tokens are part of the input, and thoughts of the output.
import type { ConversationUsage } from '../../conversation/conversation.ts';
import { type JsonObject, type JsonValue, numberOf, objectOf } from '../../json/json.ts';

/** Undefined: there is none, or it has no counts. */
export function readUsage(value: JsonValue | undefined): ConversationUsage | undefined {
  const usage = objectOf(value);
  const inputTokens = numberOf(usage?.['input_tokens']);
  const outputTokens = numberOf(usage?.['output_tokens']);
  if (usage === undefined || inputTokens === undefined || outputTokens === undefined) return undefined;
  const input = objectOf(usage['input_tokens_details']);
  return {
    inputTokens,
    outputTokens,
    totalTokens: numberOf(usage['total_tokens']),
    cachedTokens: numberOf(input?.['cached_tokens']),
    cacheWriteTokens: numberOf(input?.['cache_write_tokens']),
    reasoningTokens: numberOf(objectOf(usage['output_tokens_details'])?.['reasoning_tokens']),
  };
}

/** The usage as OpenAI writes it, in tokens; unknown details are 0. */
export function writeUsage(usage: ConversationUsage): JsonObject {
  const { inputTokens, outputTokens, totalTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedTokens ?? 0, cache_write_tokens: cacheWriteTokens ?? 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
    total_tokens: totalTokens ?? inputTokens + outputTokens,
  };
}
