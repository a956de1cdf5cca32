// Token counts of Bedrock: the input leaves out what was read from and written to a cache.
import type { ConversationUsage } from '../conversation/conversation.ts';
import { type JsonValue, numberOf, objectOf } from '../json/json.ts';

/** The token counts of an answer; undefined when the value has none. */
export function readUsage(value: JsonValue | undefined): ConversationUsage | undefined {
  const usage = objectOf(value);
  const fresh = numberOf(usage?.['inputTokens']);
  const outputTokens = numberOf(usage?.['outputTokens']);
  if (usage === undefined || (fresh === undefined && outputTokens === undefined)) return undefined;
  const cachedTokens = numberOf(usage['cacheReadInputTokens']);
  const cacheWriteTokens = numberOf(usage['cacheWriteInputTokens']);
  const inputTokens = (fresh ?? 0) + (cachedTokens ?? 0) + (cacheWriteTokens ?? 0);
  const total = numberOf(usage['totalTokens']);
  return {
    inputTokens,
    outputTokens: outputTokens ?? 0,
    // Some models leave the cache out of the total, too.
    totalTokens: total !== undefined && total >= inputTokens + (outputTokens ?? 0) ? total : undefined,
    cachedTokens,
    cacheWriteTokens,
  };
}
