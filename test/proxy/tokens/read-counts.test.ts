// Counts are read from the bytes of a usage object where it is written as usual, and as JSON reads them.
import * as fc from 'fast-check';
import { test } from 'tap';
import { noCounts } from '../../../proxy/tokens/counts.ts';
import { readCounts } from '../../../proxy/tokens/read-counts.ts';
import { tokenUsageFrom, tokenUsageOf } from '../../../proxy/tokens/token-usage.ts';
import { runs } from '../../support/extent.ts';

const read = (text: string) => readCounts(Buffer.from(text), 0, Buffer.byteLength(text));

await test('the usage of OpenAI and of Anthropic is read without making an object of it', (t) => {
  const details = '"prompt_tokens_details":{"cached_tokens":3,"audio_tokens":0},"completion_tokens_details":{"a}":1}';
  const openai = read(`{"prompt_tokens":14,"completion_tokens":32,"total_tokens":46,${details}}`);
  t.same(openai, { ...noCounts, prompt: 14, output: 32, total: 46, cached: 3, audioInput: 0 });
  t.same(read('{ "input_tokens" : 5 ,\r\n\t"output_tokens":0 }'), { ...noCounts, input: 5, output: 0 });
  const caches =
    '"cache_creation_input_tokens":7,"cache_read_input_tokens":11,"cache_creation":{"ephemeral_5m_input_tokens":7}';
  const anthropic = read(
    `{"input_tokens":5,${caches},"output_tokens":3,"service_tier":"standard","server_tool_use":null}`,
  );
  t.same(anthropic, { ...noCounts, input: 5, output: 3, cacheRead: 11, cacheWrite: 7 });
  t.same(read('{}'), noCounts);
  t.end();
});

await test('what is written otherwise is left to the parser', (t) => {
  const others = [
    '{"total_tokens":1.5}',
    '{"total_tokens":-1}',
    '{"total_tokens":1e3}',
    '{"total_tokens":07}',
    '{"total_tokens":1234567890123456}',
    '{"total_tokens":"7"}',
    '{"total_tokens":null}',
    '{"tier":nul}',
    '{"tier":true}',
    '{"tier":"a\\"b"}',
    '{"tier":"a',
    '{"total\\u005ftokens":7}',
    '{"total_tokens":7,"list":[1]}',
    '{"deep":{"er":{}},"total_tokens":7}',
    '{"prompt_tokens_details":{"cached_tokens":1.5},"total_tokens":7}',
    '{"prompt_tokens_details":{"cached_tokens":1},"input_tokens_details":{"cached_tokens":2}}',
    '{"input_token_details":{"cached_tokens_details":{"audio_tokens":1}},"total_tokens":7}',
    '{"prompt_tokens_details":{"cached_tokens":1,},"total_tokens":7}',
    '{"prompt_tokens_details":{"cached_tokens":1',
    '{"note":{"a":"}\\""},"total_tokens":7}',
    '{"total_tokens":7',
    '{"total_tokens":7,}',
    '{"total_tokens" 7}',
    '{7}',
    '{"total_tokens":7 "a":1}',
  ];
  t.same(
    others.filter((text) => read(text) !== undefined),
    [],
  );
  t.end();
});

await test('what is read is what JSON says', (t) => {
  const names = [
    'prompt_tokens',
    'completion_tokens',
    'total_tokens',
    'input_tokens',
    'output_tokens',
    'cache_read_input_tokens',
    'cache_creation_input_tokens',
    'cache_creation',
    'prompt_tokens_details',
    'input_tokens_details',
    'output_tokens_details',
    'seconds',
    'cost',
    'usage',
  ];
  const parts = [
    'cached_tokens',
    'audio_tokens',
    'cache_write_tokens',
    'reasoning_tokens',
    'ephemeral_1h_input_tokens',
  ];
  const value = fc.oneof(
    fc.integer({ min: 0, max: 20_000_000 }),
    fc.double(),
    fc.constant(null),
    fc.dictionary(fc.constantFrom(...names, ...parts), fc.oneof(fc.nat(20), fc.integer(), fc.string()), { maxKeys: 3 }),
  );
  const object = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 6 });
  fc.assert(
    fc.property(object, fc.constantFrom(undefined, 2), (usage, indent) => {
      const counts = read(JSON.stringify(usage, null, indent));
      const expected = tokenUsageOf(usage);
      return counts === undefined || JSON.stringify(tokenUsageFrom(counts)) === JSON.stringify(expected);
    }),
    runs(300),
  );
  t.end();
});
