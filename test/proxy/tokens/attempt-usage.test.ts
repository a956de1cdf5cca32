// The record of an attempt: every count by its name, and its cost.
import { test } from 'tap';
import { priceOf } from '../../../domain/prices/price.ts';
import { attemptUsage } from '../../../proxy/tokens/attempt-usage.ts';

const small = { input_per_mtok: 0.15, output_per_mtok: 0.6 };

await test('an attempt is recorded with its parts, its source and its cost', (t) => {
  const usage = { inputTokens: 10, outputTokens: 4, totalTokens: 14, source: 'partial', reasoningTokens: 0 } as const;
  const record = { input_tokens: 10, output_tokens: 4, total_tokens: 14, reasoning_tokens: 0, source: 'partial' };
  const cost = { input: 1_500, output: 2_400, total: 3_900 };
  t.strictSame(attemptUsage(usage, priceOf(small), 'resp_1'), { ...record, cost, provider_id: 'resp_1' });
  t.strictSame(attemptUsage(usage, undefined), { ...record, cost: null });
  const mixed = attemptUsage({ ...usage, isOfOtherModel: true }, priceOf(small));
  t.strictSame(mixed, { ...record, cost: null }, 'of two models the price of one says nothing');
  t.match(attemptUsage({ ...usage, isOfOtherModel: true, cost }, undefined), { cost }, 'what its parts cost');
  const every = {
    cachedInputTokens: 1,
    cacheWriteTokens: 2,
    hourCacheWriteTokens: 1,
    audioInputTokens: 3,
    cachedAudioTokens: 1,
    audioOutputTokens: 2,
    audioSeconds: 0.5,
    characters: 7,
    images: 1,
  };
  t.match(attemptUsage({ ...usage, ...every }, undefined), {
    cached_input_tokens: 1,
    cache_write_input_tokens: 2,
    cache_write_1h_input_tokens: 1,
    audio_input_tokens: 3,
    cached_audio_input_tokens: 1,
    audio_output_tokens: 2,
    audio_seconds: 0.5,
    characters: 7,
    images: 1,
  });
  t.end();
});
