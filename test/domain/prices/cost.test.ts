// Costs are exact to the nano-dollar; what is free costs 0, and what has no price has no cost.
import { test } from 'tap';
import { costOf } from '../../../domain/prices/cost.ts';
import { priceOf } from '../../../domain/prices/price.ts';
import type { UsageCounts } from '../../../domain/records/usage.ts';
import type { Pricing } from '../../../schemas/types.ts';

const counts = (input: number, output: number, parts: Partial<UsageCounts> = {}): UsageCounts => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
  ...parts,
});
const small: Pricing = { input_per_mtok: 0.15, output_per_mtok: 0.6, cached_input_per_mtok: 0.075 };
const claude: Pricing = {
  input_per_mtok: 3,
  output_per_mtok: 15,
  cached_input_per_mtok: 0.3,
  cache_write_per_mtok: 3.75,
  cache_write_1h_per_mtok: 6,
};
const voice: Pricing = {
  input_per_mtok: 4,
  output_per_mtok: 16,
  cached_input_per_mtok: 0.4,
  audio_input_per_mtok: 32,
  cached_audio_input_per_mtok: 0.5,
  audio_output_per_mtok: 64,
};
const long: Pricing = {
  ...small,
  long_context: { above_tokens: 1000, input_per_mtok: 0.3, output_per_mtok: 0.9 },
};

const rows: readonly (readonly [claim: string, UsageCounts, Pricing, input: number, output: number])[] = [
  ['plain', counts(1400, 320), small, 210_000, 192_000],
  ['cached tokens by their rate', counts(1400, 320, { cached_input_tokens: 1024 }), small, 133_200, 192_000],
  ['an explicit zero', counts(1400, 0, { cached_input_tokens: 0, reasoning_tokens: 0 }), small, 210_000, 0],
  [
    'cached without a rate',
    counts(10, 1, { cached_input_tokens: 4 }),
    { input_per_mtok: 2, output_per_mtok: 8 },
    20_000,
    8_000,
  ],
  [
    'cache writes, those of an hour dearer',
    counts(2305, 90, { cached_input_tokens: 2000, cache_write_input_tokens: 300, cache_write_1h_input_tokens: 200 }),
    claude,
    5 * 3_000 + 2000 * 300 + 100 * 3_750 + 200 * 6_000,
    90 * 15_000,
  ],
  ['thoughts are output', counts(0, 100, { reasoning_tokens: 60 }), small, 0, 60_000],
  ['thoughts with a rate', counts(0, 100, { reasoning_tokens: 60 }), { ...small, reasoning_per_mtok: 1 }, 0, 84_000],
  [
    'sound, in part cached',
    counts(132, 121, {
      cached_input_tokens: 64,
      audio_input_tokens: 13,
      cached_audio_input_tokens: 4,
      audio_output_tokens: 91,
    }),
    voice,
    59 * 4_000 + 9 * 32_000 + 60 * 400 + 4 * 500,
    30 * 16_000 + 91 * 64_000,
  ],
  [
    'sound that must be cached, since all is',
    counts(10, 0, { cached_input_tokens: 10, audio_input_tokens: 4 }),
    voice,
    6 * 400 + 4 * 500,
    0,
  ],
  ['each side rounded once', counts(3, 3), { input_per_mtok: 0.0375, output_per_mtok: 0.0001 }, 113, 0],
  ['a request as long as usual', counts(1000, 10), long, 150_000, 6_000],
  ['a longer one', counts(1001, 10, { cached_input_tokens: 1 }), long, 300_300, 9_000],
  ['free', counts(1400, 320), { input_per_mtok: 0, output_per_mtok: 0 }, 0, 0],
  ['nothing used', counts(0, 0), {}, 0, 0],
  ['a fee is output', counts(10, 0), { ...small, per_request: 0.005 }, 1_500, 5_000_000],
  ['a fee that is the only price', counts(10, 5, { images: 1 }), { per_request: 0.002 }, 0, 2_000_000],
  ['input of a model that writes nothing', counts(1000, 0), { input_per_mtok: 0.02 }, 20_000, 0],
  ['images', counts(0, 0, { images: 3 }), { per_image: 0.04 }, 0, 120_000_000],
  ['images in tokens', counts(100, 10, { images: 3 }), small, 15_000, 6_000],
  ['seconds of sound', counts(0, 0, { audio_seconds: 27.5 }), { per_hour: 0.36 }, 2_750_000, 0],
  ['characters', counts(0, 0, { characters: 7 }), { per_million_characters: 15 }, 0, 105_000],
  [
    'the largest there can be',
    counts(9_000_000, 1_000_000),
    { input_per_mtok: 150, output_per_mtok: 600 },
    1.35e12,
    6e11,
  ],
];

await test('each row costs what a calculator says', (t) => {
  for (const [claim, used, pricing, input, output] of rows) {
    t.strictSame(costOf(used, priceOf(pricing)), { input, output, total: input + output }, claim);
  }
  t.end();
});

await test('what has no price has no cost, not 0', (t) => {
  const unpriced: readonly (readonly [claim: string, UsageCounts, Pricing])[] = [
    ['tokens', counts(1, 0), {}],
    ['output', counts(1, 1), { input_per_mtok: 1 }],
    ['tokens, for a price of images', counts(1, 0, { images: 1 }), { per_image: 1 }],
    ['images', counts(0, 0, { images: 1 }), small],
    ['seconds', counts(0, 0, { audio_seconds: 1 }), small],
    ['characters', counts(0, 0, { characters: 1 }), { per_hour: 1 }],
    ['a long request', counts(1001, 1), { ...small, long_context: { above_tokens: 1000 } }],
  ];
  for (const [claim, used, pricing] of unpriced) t.equal(costOf(used, priceOf(pricing)), null, claim);
  t.end();
});
