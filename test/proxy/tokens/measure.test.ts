// What an answer cost: the provider's word when there is one, else an estimate that says so.
import { test } from 'tap';
import { StreamTap } from '../../../proxy/dialects/chat/stream-tap.ts';
import { type MeasuredRequest, measureBody, measurePassing, measureStream } from '../../../proxy/tokens/measure.ts';
import { createUsageReader } from '../../../proxy/tokens/usage-reader.ts';

/** 61 characters, keys included, so 16 tokens. */
const asked: MeasuredRequest = {
  operation: 'chat',
  call: { body: Buffer.from(JSON.stringify({ model: 'm', messages: [{ content: 'x'.repeat(40) }] })) },
};
const embeddings: MeasuredRequest = {
  operation: 'embeddings',
  call: { body: Buffer.from(JSON.stringify({ model: 'm', input: 'x'.repeat(50) })) },
};
const estimated = (outputTokens: number) => ({
  inputTokens: 16,
  outputTokens,
  totalTokens: 16 + outputTokens,
  source: 'estimated',
});
const reported = { inputTokens: 3, outputTokens: 4, totalTokens: 7, source: 'reported' };
const usage = '"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}';

await test('a whole answer', (t) => {
  const answer = (report: string): Buffer => Buffer.from(`{"choices":[{"message":{"content":"eight ch"}}]${report}}`);
  t.same(measureBody(asked, answer(`,${usage}`)), reported);
  t.same(measureBody(asked, answer(',"usage":null')), estimated(2));
  t.same(measureBody(asked, answer('').subarray(0, 32)), estimated(2), 'of a part what is there counts');
  t.same(measureBody(asked, Buffer.alloc(0)), estimated(0), 'nothing came, but the question was read');
  t.end();
});

await test('a response in the background is told later', (t) => {
  const answer = Buffer.from('{"status":"queued","usage":null}');
  const told = (more: object, operation = 'responses') =>
    measureBody({ operation, call: { body: Buffer.from(JSON.stringify({ input: 'x', ...more })) } }, answer);
  t.equal(told({ background: true }), undefined);
  t.equal(told({ background: false })?.source, 'estimated');
  t.equal(told({ metadata: { background: true } })?.source, 'estimated');
  t.equal(told({ background: true }, 'chat')?.source, 'estimated');
  t.end();
});

await test('a stream', (t) => {
  const measured = (...events: string[]) => {
    const tap = new StreamTap({ dropsUsage: true, readsUsage: true, watchesEnd: false, secrets: [] });
    for (const event of events) tap.push(Buffer.from(`data: ${event}\n\n`));
    return measureStream(asked, tap);
  };
  const delta = '{"choices":[{"delta":{"content":"hi"}}],"usage":null}';
  t.same(measured(delta, delta, `{"choices":[],${usage}}`, '[DONE]'), reported);
  t.same(measured(delta, delta, '[DONE]'), estimated(2));
  t.same(measured(delta, `{"choices":[{"delta":{"content":"${'x'.repeat(4_000)}"}}]}`), estimated(898));
  t.same(measured(delta, `{"choices":[{"delta":{"content":"${'漢'.repeat(4_000)}"}}]}`), estimated(4_000));
  // The same in events of many letters each, as some providers send them.
  const many = '{"choices":[{"delta":{"content":"漢字漢字漢字漢字漢字"}}]}';
  t.same(measured(...Array.from({ length: 400 }, () => many)), estimated(4_000));
  const late = [...Array.from({ length: 200 }, () => delta), ...Array.from({ length: 400 }, () => many)];
  const { outputTokens } = measured(...late);
  t.ok(outputTokens >= 3_930 && outputTokens <= 4_000, `after a beginning in English: ${outputTokens}`);
  t.same(measured(delta, `{"choices":[],${usage.replace('7', '10000001')}}`), estimated(2), 'an absurd report');
  t.same(measured(), estimated(0));
  t.end();
});

await test('an answer too long to be held', (t) => {
  const measured = (...chunks: string[]) => {
    const reader = createUsageReader();
    for (const chunk of chunks) reader.push(Buffer.from(chunk));
    return measurePassing(asked, reader);
  };
  const long = `{"a":"${'x'.repeat(79_994)}`;
  t.same(measured(long, `",${usage}}`), reported);
  t.same(measured(long), estimated(20_000));
  t.same(measured(long.replaceAll('x', '漢')), estimated(79_996));
  t.same(measured(), estimated(0));
  t.end();
});

await test('embeddings are numbers, not tokens', (t) => {
  const answer = Buffer.from('{"data":[{"embedding":[0.1,0.2]}],"text":"eight ch"}');
  const reader = createUsageReader();
  reader.push(answer);
  t.same(measureBody(embeddings, answer), estimated(0));
  t.same(measurePassing(embeddings, reader), estimated(0));
  t.end();
});
