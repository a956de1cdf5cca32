// Estimates without reported usage: a quarter of the text's characters, and for any input neither negative nor NaN.
import * as fc from 'fast-check';
import { test } from 'tap';
import { type Member, scanObject } from '../../../proxy/bytes/scan.ts';
import { ScanError } from '../../../proxy/bytes/scan-error.ts';
import { estimateInput, estimateOutput, estimateStreamOutput } from '../../../proxy/tokens/estimate.ts';
import { runs } from '../../support/extent.ts';
import { slownessOf, threadMsOf } from './quick.ts';

/** None of a body that no request may have, or that is no object. */
function membersOf(bytes: Buffer): readonly Member[] {
  try {
    return scanObject(bytes);
  } catch (error) {
    if (error instanceof ScanError) return [];
    throw error;
  }
}

/** Of a body whose texts are looked for; where it is not so long that only a part of it is read, also of one that was scanned. */
const input = (body: unknown): number => {
  const bytes = Buffer.from(JSON.stringify(body));
  const tokens = estimateInput(bytes);
  if (bytes.length < 100_000 && estimateInput(bytes, membersOf(bytes)) !== tokens)
    throw new Error('a scan makes a difference');
  return tokens;
};
const output = (body: unknown): number => estimateOutput(Buffer.from(JSON.stringify(body)));
const eight = 'eight ch';

const message = (content: unknown) => ({ messages: [{ content }] });
const base64 = (bytes: number, start = ''): string => start + 'A'.repeat(Math.ceil((bytes * 4) / 3) - start.length);
/** Half a token short of nothing: what the keys around a text weigh, in characters. */
const around = 'messages'.length + 'content'.length;

await test('all members of a request count, keys and texts, four characters a token, rounded up', async (t) => {
  const cases: readonly [body: object, characters: number][] = [
    [{}, 0],
    [message(''), around],
    [message(eight), around + 8],
    [{ functions: [{ name: eight, description: eight }] }, 9 + 4 + 11 + 16],
    [{ response_format: { json_schema: { schema: { [eight]: {} } } } }, 15 + 11 + 6 + 8],
    [{ data: eight, whatever: [eight, [eight]] }, 4 + 8 + 8 + 16],
    [{ messages: [{ content: [{ text: eight }, { text: eight }] }] }, around + 8 + 16],
    [{ input: 'line\n"quoted"' }, 5 + 16],
    // Each number and each word is a token: lists of numbers may be tokens that the client has made itself.
    [{ input: [15_339, 1_917, 3] }, 5 + 12],
    [{ tools: [{ minimum: 1, strict: true }] }, 5 + 7 + 6 + 8],
    // Names that a plain object has too
    [JSON.parse('{"__proto__":"eight ch","constructor":"eight ch"}') as object, 9 + 11 + 16],
  ];
  for (const [body, characters] of cases) {
    t.equal(input(body), Math.ceil(characters / 4), JSON.stringify(body).slice(0, 90));
    t.equal(estimateInput(Buffer.from(JSON.stringify(body, null, 4))), Math.ceil(characters / 4), 'blanks are free');
  }
});

await test('what only looks like media is a text', async (t) => {
  const long = 'eight ch'.repeat(1_000);
  for (const text of [
    `data:x,${long}`,
    `data:image/png;base64,${long}`,
    `data:image/png;base64,${base64(6_000)}`,
    base64(6_000),
  ]) {
    for (const body of [
      message(text),
      { messages: [{ content: [{ type: 'text', text }] }] },
      { functions: [{ text }] },
    ]) {
      t.ok(input(body) >= text.length / 4, `${text.slice(0, 30)} ${JSON.stringify(body).slice(0, 60)}`);
    }
  }
  t.ok(input({ data: long }) >= 2_000, 'nor is a member of that name anything special');
  const picture = `${base64(200, 'iVBORw')}${'the_quick_brown_fox_'.repeat(1_000)}`;
  for (const body of [
    { tools: [{ function: { parameters: { properties: { image_url: { description: picture } } } } }] },
    { functions: [{ parameters: { properties: { audio_url: { enum: [picture] } } } }] },
    { response_format: { json_schema: { schema: { properties: { data: [picture], url: picture } } } } },
    { metadata: { file_data: picture } },
    { input: picture },
    { input: [picture, [picture]] },
  ]) {
    t.ok(input(body) >= picture.length / 4, `a name that the client chose: ${JSON.stringify(body).slice(0, 90)}`);
  }
  const sentence = `${base64(200, 'iVBORw')} ${long} ${base64(200)}`;
  const beside = { messages: [{ content: [{ source: { type: 'text', data: sentence } }] }] };
  t.ok(input(beside) >= sentence.length / 4, 'a text between two pieces of base64');
  t.ok(input({ messages: [{ content: [{ image_url: { url: 'https://a.test', text: long } }] }] }) >= 2_000);
});

await test('media cost what their kind costs, however they are sent and however long they are', async (t) => {
  const parts = (...content: object[]): number => input(message(content)) - input(message([]));
  const image = (url: unknown) => ({ type: 'image_url', image_url: url });
  const within = (tokens: number, least: number, most: number, name: string): boolean =>
    t.ok(tokens >= least && tokens <= most, `${name}: ${tokens} of ${least} to ${most}`);
  for (const url of [
    'https://example.test/a.png',
    `data:image/png;base64,${base64(10)}`,
    `data:image/png;base64,${base64(5_000_000)}`,
  ]) {
    within(parts(image({ url })), 1_105, 1_150, 'an image in an object');
    within(parts(image(url)), 1_105, 1_150, 'an image without one');
  }
  const escaped = JSON.stringify(message([image(`data:image/jpeg;base64,${base64(50_000)}`)])).replaceAll('/', '\\/');
  within(estimateInput(Buffer.from(escaped)), 1_105, 1_150, 'an image with escaped slashes');
  const picture = image({ url: `data:image/png;base64,${base64(500_000)}`, detail: 'high' });
  within(parts(...Array.from({ length: 10 }, () => picture)), 11_050, 11_500, 'ten images');
  const sound = (data: string) => ({ type: 'input_audio', input_audio: { data, format: 'wav' } });
  within(parts(sound(base64(480_000, 'UklGR'))), 100, 400, 'ten seconds of WAV');
  within(parts(sound(base64(80_000, 'SUQz'))), 100, 400, 'ten seconds of MP3');
  within(
    parts({ type: 'file', file: { filename: 'a.pdf', file_data: base64(1_000_000, 'JVBER') } }),
    20_000,
    50_000,
    'PDF',
  );
  within(parts({ type: 'file', file: { file_id: 'file-1' } }), 1_500, 1_600, 'a file elsewhere');
  within(
    parts({ type: 'file', file: { file_data: `data:text/csv;base64,${base64(40_000)}` } }),
    10_000,
    10_100,
    'a text',
  );
  within(parts({ source: { type: 'base64', data: base64(90_000, 'iVBORw') } }), 1_105, 1_150, 'as others send it');
  within(input({ input: [{ image: `data:image/png;base64,${base64(90_000)}` }, eight] }), 1_105, 1_150, 'an embedding');
  t.ok(input({ tools: [{ properties: { file_id: { type: 'string' }, file: {} } }] }) < 20, 'a schema is no file');
});

await test('a letter of another script is a token at least, in a body of any length', async (t) => {
  const scripts = ['漢字かな', 'Привет', '한국어', 'שלום', 'नमस्ते', 'Ωδή', '😀'];
  for (const script of scripts) {
    for (const repeats of [10, 8_000, 400_000]) {
      const text = script.repeat(repeats / 4);
      const tokens = input(message(text));
      t.ok(tokens >= text.length * 0.98 && tokens <= text.length * 1.1 + 10, `${script}: ${tokens} of ${text.length}`);
    }
  }
  t.ok(input(message('漢'.repeat(8_000))) >= 8_000);
  const escaped = Buffer.from(`{"messages":[{"content":"${'\\u6f22'.repeat(8_000)}"}]}`);
  t.ok(estimateInput(escaped) >= 8_000 && estimateInput(escaped) < 13_000, 'escaped');
  t.equal(input(message('é'.repeat(80))), 44, 'a Latin letter with a mark counts twice as much as one without');
});

await test('a long body is weighed like a short one', async (t) => {
  const words = 'the quick brown fox, '.repeat(200_000);
  const near = (tokens: number, expected: number, name: string): boolean =>
    t.ok(Math.abs(tokens - expected) < expected / 20, `${name}: ${tokens} of about ${expected}`);
  near(input(message(words)), words.length / 4, 'words');
  const many = Array.from({ length: 100_000 }, () => ({ content: '漢字かなwords' }));
  const tokens = input({ messages: many });
  t.ok(tokens > 700_000 * 0.97 && tokens < 700_000 * 1.3, `many short messages, and what frames them: ${tokens}`);
  const mixed = '漢字かなwords and words, '.repeat(100_000);
  near(input(message(mixed)), (4 + 18 / 4) * 100_000, 'two scripts');
});

await test('the texts of an answer count, not what frames them', async (t) => {
  const frame = { id: 'a-long-id-of-no-interest', object: 'chat.completion', created: 1_700_000_000, model: 'a-model' };
  t.equal(output({ ...frame, choices: [{ message: { content: eight } }] }), 2);
  t.equal(output({ choices: [{ text: eight }, { text: eight }] }), 4);
  t.equal(output({ output: [{ content: [{ text: eight }] }], reasoning: eight }), 4);
  t.equal(output({ text: eight, usage: { note: eight } }), 2);
  t.equal(output({ choices: [{ index: 0, message: { role: null, content: eight }, finish_reason: 'stop' }] }), 2);
  const logprobs = { content: [{ token: eight, top: [{ token: eight, bytes: [1] }] }], refusal: null };
  t.equal(output({ choices: [{ logprobs, message: { content: eight } }] }), 2);
  const audio = { data: base64(80_000), transcript: eight };
  t.ok(output({ choices: [{ message: { audio } }] }) < 400);
  t.equal(output({ choices: [{ message: { audio: null, content: eight } }] }), 2);
  t.equal(output({ data: [{ embedding: [0.1, 0.2] }] }), 0);
});

await test('what is cut or no JSON is taken as it comes', async (t) => {
  for (const [body, asked, answered] of [
    ['', 0, 0],
    ['{"messages":["eigh', 3, 1],
    ['"a text"', 2, 2],
    ['12345', 1, 0],
    ['\\', 1, 0],
    ['"\\', 1, 1],
    ['"', 0, 0],
    ['}}]]{{"a":', 1, 0],
    ['x'.repeat(4_000), 1_000, 1_000],
    ['data: {"choices":[{"delta":{"content":"eight ch"}}]}\n\ndata: [DONE]\n\n', 10, 2],
  ] as const) {
    t.equal(estimateInput(Buffer.from(body)), asked, body.slice(0, 40));
    t.equal(estimateOutput(Buffer.from(body)), answered, body.slice(0, 40));
  }
});

await test('an event is a token, unless it is longer than one', async (t) => {
  for (const [events, bytes, wideTokens, tokens] of [
    [0, 0, 0, 0],
    [1, 100, 0, 1],
    [10, 2_000, 10, 10],
    [10, 2_000, 400, 400],
    [10, 2_560, 0, 10],
    [10, 2_604, 0, 11],
    [1, 4_256, 0, 1_000],
    [1, 3_256, 1_000, 1_000],
    [1, 7_256, 1_000, 2_000],
    [0, 400, 0, 100],
  ] as const) {
    t.equal(estimateStreamOutput(events, bytes, wideTokens), tokens, `${events} events, ${bytes} bytes`);
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
      const streamed = estimateStreamOutput(events, bytes, Math.floor(bytes / 2));
      return isCount(asked) && isCount(answered) && isCount(streamed);
    }),
    runs(2_000),
  );
});

await test('no body holds up others, and none costs more than its length', async (t) => {
  const shapes: Readonly<Record<string, (count: number) => string>> = {
    lists: (count) => `{"messages":${'['.repeat(count)}${']'.repeat(count)}}`,
    objects: (count) => `{"messages":${'{"a":'.repeat(count)}1${'}'.repeat(count)}}`,
    'short texts': (count) => `{"messages":[${'"a",'.repeat(count)}"a"]}`,
    'empty texts': (count) => `[${'"",'.repeat(count)}""]`,
    'keys that mean something': (count) => `{${'"data":"","image_url":1,'.repeat(count / 5)}"a":1}`,
    'open lists': (count) => `{"messages":${'['.repeat(count)}`,
    quotes: (count) => `{"a":"${'\\"'.repeat(count)}"}`,
    'quotes now and then': (count) => `{"a":"${`${'x'.repeat(100)}\\"`.repeat(count / 25)}"}`,
    backslashes: (count) => `{"a":"${'\\\\'.repeat(count)}"}`,
    blanks: (count) => `{"a"${' '.repeat(2 * count)}:${' '.repeat(2 * count)}1}`,
    numbers: (count) => `[${'1,'.repeat(2 * count)}1]`,
    'one word': (count) => 'x'.repeat(4 * count),
    'other scripts': (count) => `{"a":"${'漢'.repeat(count)}"}`,
    'short texts of other scripts': (count) => `[${'"漢漢",'.repeat(count / 2)}1]`,
    'data URLs': (count) =>
      `{"input":[${`{"image":"data:image/png;base64,${'A'.repeat(120)}"},`.repeat(count / 42)}1]}`,
  };
  const slow = Object.entries(shapes).flatMap(([name, shape]) => {
    const work = (count: number) => {
      const body = Buffer.from(shape(count));
      return () => estimateInput(body);
    };
    const tookMs = threadMsOf(work(8_000_000), 60);
    return [
      ...slownessOf(work, { size: 200_000, mostMs: 60, trifleMs: 20 }),
      ...(tookMs < 60 ? [] : [`${tookMs.toFixed(0)} ms for a size of 8,000,000`]),
    ].map((slowness) => `${name}: ${slowness}`);
  });
  t.same(slow, []);
});
