// Usage in the words of chat and of the servers that speak it: the same counts stand in several places.
import type { ConversationUsage } from '../../conversation/conversation.ts';
import { type JsonObject, type JsonValue, numberOf, objectOf } from '../../json/json.ts';

/**
 * Reads a usage object; undefined when it has neither input nor output. Thoughts that a server counts beside its output (xAI) are added to
 * it: they are when only the sum with them gives the total.
 */
export function readUsage(value: JsonValue | undefined): ConversationUsage | undefined {
  const usage = objectOf(value);
  if (usage === undefined) return undefined;
  const total = count(usage['total_tokens']);
  const output = count(usage['completion_tokens']) ?? count(usage['output_tokens']);
  const input = count(usage['prompt_tokens']) ?? count(usage['input_tokens']) ?? difference(total, output);
  if (input === undefined && output === undefined) return undefined;
  const inputDetails = objectOf(usage['prompt_tokens_details'] ?? usage['input_tokens_details'] ?? undefined);
  const outputDetails = objectOf(usage['completion_tokens_details'] ?? usage['output_tokens_details'] ?? undefined);
  const reasoning = count(outputDetails?.['reasoning_tokens']) ?? count(usage['reasoning_tokens']);
  const inputTokens = input ?? 0;
  const outputTokens = output ?? difference(total, inputTokens) ?? 0;
  const isBeside = reasoning !== undefined && reasoning > 0 && total === inputTokens + outputTokens + reasoning;
  return {
    inputTokens,
    outputTokens: isBeside ? outputTokens + reasoning : outputTokens,
    totalTokens: total === 0 ? undefined : total,
    // DeepSeek and Moonshot have names of their own.
    cachedTokens:
      count(inputDetails?.['cached_tokens']) ??
      count(usage['prompt_cache_hit_tokens']) ??
      count(usage['cached_tokens']) ??
      count(usage['cache_read_input_tokens']),
    // OpenRouter, and gateways that show Anthropic's counts.
    cacheWriteTokens: count(inputDetails?.['cache_write_tokens']) ?? count(usage['cache_creation_input_tokens']),
    reasoningTokens: reasoning,
    audioInputTokens: count(inputDetails?.['audio_tokens']),
    audioOutputTokens: count(outputDetails?.['audio_tokens']),
  };
}

/** The usage of a chunk or an answer: at the top, in what Groq adds, or in the choice (Moonshot). */
export function usageIn(body: JsonObject, choice: JsonObject | undefined): ConversationUsage | undefined {
  return readUsage(body['usage']) ?? readUsage(objectOf(body['x_groq'])?.['usage']) ?? readUsage(choice?.['usage']);
}

/** Usage as OpenAI writes it. The details name what is known. */
export function writeUsage(usage: ConversationUsage): JsonObject {
  const { inputTokens, outputTokens, totalTokens, cachedTokens, cacheWriteTokens } = usage;
  const { reasoningTokens, audioInputTokens, audioOutputTokens } = usage;
  const isCacheKnown = cachedTokens !== undefined || cacheWriteTokens !== undefined;
  const cache = { cached_tokens: cachedTokens ?? 0, cache_write_tokens: cacheWriteTokens };
  const isInputKnown = isCacheKnown || audioInputTokens !== undefined;
  const isOutputKnown = reasoningTokens !== undefined || audioOutputTokens !== undefined;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: totalTokens ?? inputTokens + outputTokens,
    prompt_tokens_details: isInputKnown
      ? { ...(isCacheKnown ? cache : {}), audio_tokens: audioInputTokens }
      : undefined,
    completion_tokens_details: isOutputKnown
      ? { reasoning_tokens: reasoningTokens, audio_tokens: audioOutputTokens }
      : undefined,
  };
}

function count(value: JsonValue | undefined): number | undefined {
  const number = numberOf(value);
  return number !== undefined && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

function difference(total: number | undefined, part: number | undefined): number | undefined {
  return total === undefined ? undefined : Math.max(0, total - (part ?? 0));
}
