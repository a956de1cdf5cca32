// Anthropic's counts of tokens: what its cache holds stands beside the input, and in the conversation it is part of it.
import type { ConversationUsage } from '../../conversation/conversation.ts';
import { type JsonObject, type JsonValue, numberOf, objectOf } from '../../json/json.ts';

/** The usage in tokens; undefined when neither input nor output is counted. */
export function readUsage(usage: JsonObject | undefined): ConversationUsage | undefined {
  const input = countOf(usage?.['input_tokens']);
  const output = countOf(usage?.['output_tokens']);
  if (usage === undefined || (input === undefined && output === undefined)) return undefined;
  const cachedTokens = countOf(usage['cache_read_input_tokens']);
  const cacheWriteTokens = countOf(usage['cache_creation_input_tokens']);
  const inputTokens = (input ?? 0) + (cachedTokens ?? 0) + (cacheWriteTokens ?? 0);
  return {
    inputTokens,
    outputTokens: output ?? 0,
    cachedTokens,
    cacheWriteTokens,
    hourCacheWriteTokens: countOf(objectOf(usage['cache_creation'])?.['ephemeral_1h_input_tokens']),
    reasoningTokens: countOf(objectOf(usage['output_tokens_details'])?.['thinking_tokens']),
  };
}

/** The usage as Anthropic writes it, in tokens; unknown cache counts are 0. */
export function writeUsage(usage: ConversationUsage | undefined): JsonObject {
  const { inputTokens = 0, outputTokens = 0, cachedTokens = 0, cacheWriteTokens = 0 } = usage ?? {};
  return {
    input_tokens: Math.max(0, inputTokens - cachedTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
  };
}

/**
 * The counts of a stream so far. Each count is of the whole answer, so a later one replaces the former; some servers
 * send 0 for unknown.
 */
export function mergeUsage(before: JsonObject, said: JsonObject): JsonObject {
  const known = Object.entries(said).filter(([key, value]) => countOf(value) || !Object.hasOwn(before, key));
  return Object.fromEntries([...Object.entries(before), ...known]);
}

function countOf(value: JsonValue | undefined): number | undefined {
  const count = numberOf(value);
  return count !== undefined && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}
