// The usage and the cost of one attempt, as records keep them.
import { costOf } from '../../domain/prices/cost.ts';
import type { Price } from '../../domain/prices/price.ts';
import type { AttemptUsage, Cost, UsageCounts } from '../../domain/records/usage.ts';
import type { TokenUsage } from './token-usage.ts';

type Building<Shape> = { -readonly [Key in keyof Shape]: Shape[Key] };

/**
 * The record of `usage` at a target with this price. The cost is null where the price is not known, or does not cover all that was used. Runs
 * once a request, in less than a microsecond. Usage of a broken answer is that of `ofBrokenAnswer`, as `settle` has it. `providerId`: the
 * provider's id of the answer (spec: Audit entry `usage`).
 */
export function attemptUsage(usage: TokenUsage, price: Price | undefined, providerId?: string): AttemptUsage {
  const counts = countsOf(usage);
  const cost = usage.cost === undefined ? costIn(counts, usage, price) : usage.cost;
  const record: Building<AttemptUsage> = Object.assign(counts, { source: usage.source, cost });
  if (providerId !== undefined) record.provider_id = providerId;
  return record;
}

/** The cost of one answer at a target with this price, in nano-dollars; null: unknown. */
export function costOfUsage(usage: TokenUsage, price: Price | undefined): Cost | null {
  return costIn(countsOf(usage), usage, price);
}

function costIn(counts: UsageCounts, { isOfOtherModel }: TokenUsage, price: Price | undefined): Cost | null {
  return price === undefined || isOfOtherModel === true ? null : costOf(counts, price);
}

/** The counts; unreported ones stay absent. */
function countsOf(usage: TokenUsage): Building<UsageCounts> {
  const counts: Building<UsageCounts> = {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    total_tokens: usage.totalTokens,
  };
  const { cachedInputTokens, cacheWriteTokens, hourCacheWriteTokens, reasoningTokens } = usage;
  if (cachedInputTokens !== undefined) counts.cached_input_tokens = cachedInputTokens;
  if (cacheWriteTokens !== undefined) counts.cache_write_input_tokens = cacheWriteTokens;
  if (hourCacheWriteTokens !== undefined) counts.cache_write_1h_input_tokens = hourCacheWriteTokens;
  if (reasoningTokens !== undefined) counts.reasoning_tokens = reasoningTokens;
  const { audioInputTokens, cachedAudioTokens, audioOutputTokens, audioSeconds, characters, images } = usage;
  if (audioInputTokens !== undefined) counts.audio_input_tokens = audioInputTokens;
  if (cachedAudioTokens !== undefined) counts.cached_audio_input_tokens = cachedAudioTokens;
  if (audioOutputTokens !== undefined) counts.audio_output_tokens = audioOutputTokens;
  if (audioSeconds !== undefined) counts.audio_seconds = audioSeconds;
  if (characters !== undefined) counts.characters = characters;
  if (images !== undefined) counts.images = images;
  return counts;
}
