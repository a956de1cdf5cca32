// Estimates for when nobody reports: a quarter of the text's characters, never negative, never NaN, whatever comes.
import * as fc from 'fast-check';
import { test } from 'tap';
import { estimateInput, estimateOutput, estimateStreamOutput } from '../../../proxy/usage/estimate.ts';
import { growsLinearly, threadMsOf } from './quick.ts';

const input = (body: unknown): number => estimateInput(Buffer.from(JSON.stringify(body)));
const output = (body: unknown): number => estimateOutput(Buffer.from(JSON.stringify(body)));
const eight = 'eight ch';

await test('the texts of a request count, four characters a token, rounded up', async (t) => {
  const cases: readonly [body: object, tokens: number][] = [
    [{}, 0],
    [{ model: 'a-very-long-model-name', user: eight, temperature: 1 }, 0],
    [{ messages: [] }, 0],
    [{ messages: [{ content: eight }] }, 2],
    [{ messages: [{ content: 'nine char' }] }, 3],
    [{ messages: [{ role: 'user', content: eight }] }, 3],
    [{ input: eight }, 2],
    [{ input: [eight, eight] }, 4],
    [{ prompt: eight, instructions: eight, system: eight }, 6],
    [{ tools: [{ type: eight, function: { name: eight, strict: true } }] }, 4],
    [{ messages: [{ content: [{ text: eight }, { text: eight }] }] }, 4],
    // Tokens that the client has made itself
    [{ input: [15_339, 1_917, 3, null, true] }, 3],
    [{ input: [[1, 2], [3]] }, 3],
    [{ prompt: [15_339, 1_917] }, 2],
    [{ tools: [{ minimum: 1 }] }, 0],
    // Pictures, sound and documents
    [{ messages: [{ content: [{ image_url: { url: eight } }, { text: eight }] }] }, 2],
    [{ messages: [{ content: [{ image_url: 'https://example.test/a.png' }] }] }, 0],
    [{ messages: [{ content: [{ input_audio: { data: eight, format: 'wav' } }] }] }, 0],
    [{ messages: [{ content: [{ file: { file_data: eight } }] }] }, 0],
    [{ input: [`data:image/png;base64,${'A'.repeat(10_000)}`, eight] }, 2],
    [{ messages: [{ content: [{ source: { data: eight } }] }] }, 0],
    [{ input: ['data:,', 'data:text/plain,eight ch'] }, 0],
    // Text that only begins like a data URL
    [{ messages: [{ content: 'data: eight, nine' }] }, 5],
    [{ messages: [{ content: 'data:image/png' }] }, 4],
    // Names that a plain object has too
    [JSON.parse('{"messages":{"__proto__":"eight ch","constructor":"eight ch"}}') as object, 4],
  ];
  for (const [body, tokens] of cases) t.equal(input(body), tokens, JSON.stringify(body).slice(0, 90));
});

await test('the texts of an answer count', async (t) => {
  t.equal(output({ id: 'a-long-id-of-no-interest', choices: [{ message: { content: eight } }] }), 2);
  t.equal(output({ choices: [{ text: eight }, { text: eight }] }), 4);
  t.equal(output({ output: [{ content: [{ text: eight }] }] }), 2);
  t.equal(output({ text: eight }), 2);
  t.equal(output({ choices: [{ index: 0, message: { role: null, content: eight }, finish_reason: 'stop' }] }), 2);
  t.equal(
    output({ choices: [{ message: { content: eight }, logprobs: { content: [{ token: eight, bytes: [1] }] } }] }),
    2,
  );
  t.equal(output({ choices: [{ message: { audio: { data: 'A'.repeat(10_000), transcript: eight } } }] }), 2);
  t.equal(output({ data: [{ embedding: [0.1, 0.2] }] }), 0);
});

await test('what cannot be read is measured by its length', async (t) => {
  for (const [body, tokens] of [
    ['', 0],
    ['x', 1],
    ['{"messages":["eigh', 5],
    ['"a text"', 2],
    ['null', 1],
    ['12345', 2],
    [`{"messages":["${'x'.repeat(1 << 20)}"]}`, Math.ceil(((1 << 20) + 17) / 4)],
  ] as const) {
    t.equal(estimateInput(Buffer.from(body)), tokens, body.slice(0, 40));
    t.equal(estimateOutput(Buffer.from(body)), tokens, body.slice(0, 40));
  }
  t.equal(estimateInput(Buffer.from([0xff, 0xfe, 0x00])), 1);
});

await test('an event is a token, unless it is longer than one', async (t) => {
  for (const [events, bytes, tokens] of [
    [0, 0, 0],
    [1, 100, 1],
    [10, 2_000, 10],
    [10, 2_560, 10],
    [10, 2_604, 11],
    [1, 4_256, 1_000],
    [0, 400, 100],
  ] as const) {
    t.equal(estimateStreamOutput(events, bytes), tokens, `${events} events, ${bytes} bytes`);
  }
});

await test('an estimate is a whole number from 0 on', async () => {
  const isCount = (tokens: number): boolean => Number.isSafeInteger(tokens) && tokens >= 0;
  const body = fc.oneof(
    fc.jsonValue().map((value) => JSON.stringify({ messages: value, choices: value })),
    fc.json(),
    fc.string(),
  );
  fc.assert(
    fc.property(body, fc.nat(), fc.maxSafeNat(), (text, events, bytes) => {
      const buffer = Buffer.from(text);
      const [asked, answered] = [estimateInput(buffer), estimateOutput(buffer)];
      return (
        isCount(asked) && isCount(answered) && asked <= buffer.length && isCount(estimateStreamOutput(events, bytes))
      );
    }),
    { numRuns: 2_000 },
  );
});

await test('deep and broad bodies cost time in proportion to their length, and no stack', async (t) => {
  const shapes: readonly ((count: number) => string)[] = [
    (count) => `{"messages":${'['.repeat(count)}${']'.repeat(count)}}`,
    (count) => `{"messages":${'{"a":'.repeat(count)}1${'}'.repeat(count)}}`,
    (count) => `{"messages":[${'"a",'.repeat(count)}"a"]}`,
    (count) => `{"messages":{${Array.from({ length: count }, (_, index) => `"${index}":"a"`).join(',')}}}`,
    (count) => `{"messages":${'['.repeat(count)}`,
  ];
  for (const [index, shape] of shapes.entries()) {
    const work = (count: number) => {
      const body = Buffer.from(shape(count));
      return () => estimateInput(body);
    };
    t.ok(growsLinearly(work, 20_000, 40), `shape ${index}`);
    t.ok(threadMsOf(work(75_000)) < 500, `shape ${index}`);
  }
});
