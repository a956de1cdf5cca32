// The usage of several answers of one session, added up.
import type { Cost } from '../../domain/records/usage.ts';
import type { TokenUsage } from './token-usage.ts';

/** The counts that only some providers report. */
const parts = [
  'cachedInputTokens',
  'cacheWriteTokens',
  'hourCacheWriteTokens',
  'audioInputTokens',
  'cachedAudioTokens',
  'reasoningTokens',
  'audioOutputTokens',
  'audioSeconds',
  'characters',
  'images',
] as const;

/** Parts that one of the two does not report are those of the other. The sum is reported when both are. */
export function sumUsage(one: TokenUsage | undefined, other: TokenUsage): TokenUsage {
  if (one === undefined) return other;
  const known = parts.filter((part) => one[part] !== undefined || other[part] !== undefined);
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    totalTokens: one.totalTokens + other.totalTokens,
    source: one.source === 'reported' ? other.source : one.source,
    ...Object.fromEntries(known.map((part) => [part, (one[part] ?? 0) + (other[part] ?? 0)])),
    ...(one.isOfOtherModel || other.isOfOtherModel ? { isOfOtherModel: true } : {}),
    ...(one.cost === undefined || other.cost === undefined ? {} : { cost: sumCost(one.cost, other.cost) }),
  };
}

function sumCost(one: Cost | null, other: Cost | null): Cost | null {
  if (one === null || other === null) return one ?? other;
  return { input: one.input + other.input, output: one.output + other.output, total: one.total + other.total };
}
