// A usage object is believed where it makes sense: whole numbers, explicit zeros, a total of its own.
import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { test } from 'tap';
import { tokenUsageOf } from '../../../proxy/tokens/token-usage.ts';
import { runs } from '../../support/extent.ts';

await test('counts are read under both spellings; what is missing follows from the rest', async (t) => {
  const cases: readonly [usage: unknown, input: number, output: number, total: number][] = [
    [{ prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }, 3, 4, 7],
    [{ input_tokens: 3, output_tokens: 4, total_tokens: 7 }, 3, 4, 7],
    [{ input_tokens: 3, output_tokens: 4 }, 3, 4, 7],
    // Anthropic counts what its cache holds beside the input; OpenAI within it.
    [{ input_tokens: 3, cache_read_input_tokens: 20, cache_creation_input_tokens: 100, output_tokens: 4 }, 123, 4, 127],
    [{ input_tokens: 0, cache_read_input_tokens: 20, cache_creation_input_tokens: null, output_tokens: 4 }, 20, 4, 24],
    [{ cache_read_input_tokens: 20 }, 20, 0, 20],
    [{ prompt_tokens: 23, completion_tokens: 4, cache_read_input_tokens: 20 }, 23, 4, 27],
    [{ input_tokens: 23, output_tokens: 4, total_tokens: 27, cache_read_input_tokens: 20 }, 23, 4, 27],
    [{ input_tokens: 23, output_tokens: 4, input_tokens_details: { cached_tokens: 20 } }, 23, 4, 27],
    [{ prompt_tokens: 5 }, 5, 0, 5],
    [{ completion_tokens: 5 }, 0, 5, 5],
    [{ total_tokens: 5 }, 5, 0, 5],
    [{ prompt_tokens: 3, total_tokens: 5 }, 3, 2, 5],
    [{ completion_tokens: 3, total_tokens: 5 }, 2, 3, 5],
    [{ prompt_tokens: 8, total_tokens: 5 }, 8, 0, 5],
    [{ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, 0, 0, 0],
    [{ prompt_tokens: 0 }, 0, 0, 0],
    [{ prompt_tokens: 3, completion_tokens: 4, total_tokens: 0 }, 3, 4, 7],
    [{ prompt_tokens: 3, input_tokens: 9, completion_tokens: 4, output_tokens: 9 }, 3, 4, 7],
    [{ prompt_tokens: 3, completion_tokens: 4, total_tokens: 10 }, 3, 4, 10],
    [{ prompt_tokens: null, input_tokens: 2, completion_tokens: 'x', output_tokens: 1 }, 2, 1, 3],
    [{ prompt_tokens: 1, prompt_tokens_details: { cached_tokens: 9 }, extra: 'x' }, 1, 0, 1],
    [{ prompt_tokens: 12.0 }, 12, 0, 12],
    [{ prompt_tokens: 6_000_000, completion_tokens: 4_000_000 }, 6_000_000, 4_000_000, 10_000_000],
  ];
  for (const [usage, inputTokens, outputTokens, totalTokens] of cases) {
    t.match(tokenUsageOf(usage), { inputTokens, outputTokens, totalTokens, source: 'reported' }, JSON.stringify(usage));
  }
});

await test('what is no count is not there', async (t) => {
  for (const count of ['7', null, true, [7], {}, undefined]) {
    t.equal(tokenUsageOf({ prompt_tokens: count, total_tokens: count }), undefined, inspect(count));
    t.match(tokenUsageOf({ prompt_tokens: count, completion_tokens: 4 }), { inputTokens: 0, totalTokens: 4 });
    t.match(tokenUsageOf({ prompt_tokens: 3, completion_tokens: 4, total_tokens: count }), { totalTokens: 7 });
  }
  for (const usage of [undefined, null, 7, 'usage', true, [], {}, { tokens: 7 }, { usage: { total_tokens: 7 } }]) {
    t.equal(tokenUsageOf(usage), undefined, JSON.stringify(usage));
  }
});

await test('a report with an absurd count is none at all', async (t) => {
  const odd = [
    -1,
    -1e9,
    0.5,
    3.7,
    10_000_001,
    1e15,
    1e300,
    Number.MAX_SAFE_INTEGER + 1,
    Number.POSITIVE_INFINITY,
    Number.NaN,
  ];
  for (const count of odd) {
    for (const key of ['prompt_tokens', 'completion_tokens', 'total_tokens']) {
      const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7, [key]: count };
      t.equal(tokenUsageOf(usage), undefined, `${key} ${count}`);
    }
    t.equal(tokenUsageOf({ input_tokens: count }), undefined, `alone: ${count}`);
    t.equal(tokenUsageOf({ input_tokens: 3, cache_read_input_tokens: count }), undefined, `of a cache: ${count}`);
  }
  t.equal(tokenUsageOf({ prompt_tokens: 6_000_000, completion_tokens: 4_000_001 }), undefined, 'a sum');
});

await test('whatever is reported, three whole numbers that can be charged come out', async () => {
  const count = fc.oneof(fc.maxSafeNat(), fc.double(), fc.integer(), fc.anything());
  const keys = [
    'prompt_tokens',
    'completion_tokens',
    'total_tokens',
    'input_tokens',
    'output_tokens',
    'cache_read_input_tokens',
  ];
  const usage = fc.dictionary(fc.constantFrom(...keys), count);
  fc.assert(
    fc.property(usage, (said) => {
      const found = tokenUsageOf(said);
      if (found === undefined) return true;
      const counts = [found.inputTokens, found.outputTokens, found.totalTokens];
      return counts.every((each) => Number.isSafeInteger(each) && each >= 0 && each <= 10_000_000);
    }),
    runs(2_000),
  );
});
