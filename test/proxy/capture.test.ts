// What is recorded of bodies and headers, part by part: which words are keys, what a header shows, and how much memory it may take.
import * as fc from 'fast-check';
import { test } from 'tap';
import type { Sink } from '../../proxy/answer.ts';
import { BodyCapture } from '../../proxy/capture/body-capture.ts';
import { CaptureBudget } from '../../proxy/capture/capture-budget.ts';
import { foldFor } from '../../proxy/capture/folds.ts';
import { shownHeaders } from '../../proxy/capture/shown-headers.ts';
import { StreamCapture } from '../../proxy/capture/stream-capture.ts';
import type { StreamFold } from '../../proxy/capture/stream-fold.ts';
import { writeBody } from '../../proxy/capture/written-body.ts';
import { jsonWithoutSecrets, withoutKeys, withoutSecrets } from '../../schemas/formats/key-shapes.ts';
import { runs } from '../support/extent.ts';
import { watchTime } from '../support/slowdown.ts';

const R = '[REDACTED]';

await test('keys are taken out wherever they begin, and words are left', async (t) => {
  const cases: readonly (readonly [string, string])[] = [
    ['sk-abcdefgh', R],
    ['KEY=sk-ant-api03-abc_def-ghi;', `KEY=${R};`],
    ['"a\\nsk-gw-0123456789"', `"a\\n${R}"`],
    ['x=%3Dsk-0123456789', `x=%3D${R}`],
    ['AKIAIOSFODNN7EXAMPLE', R],
    ['ghp_0123456789abcdefghij ok', `${R} ok`],
    ['xoxb-123456789-abc', R],
    ['AIzaSyA0123456789_abcdef', R],
    ['eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln', R],
    ['Authorization: Bearer abcdef123456', `Authorization: Bearer ${R}`],
    ['"a\\nBearer\\tabcdef123456"', `"a\\nBearer\\t${R}"`],
    ['"\\ud83d\\ude00sk-abcdefgh"', `"\\ud83d\\ude00${R}"`],
    ['a bearer authentication scheme', 'a bearer authentication scheme'],
    ['a task-force of risk-averse desk-workers', 'a task-force of risk-averse desk-workers'],
    ['xoxo, eyJ and sk-8', 'xoxo, eyJ and sk-8'],
  ];
  for (const [text, clean] of cases) {
    t.equal(withoutKeys(text), clean);
    const far = ' '.repeat(200);
    t.equal(withoutKeys(far + text), far + clean, 'the same in a long text');
  }
  const configured = ['p4ssw0rd"x', '12345678'];
  t.equal(withoutSecrets('a p4ssw0rd"x b p4ss', configured, true), `a ${R} b ${R}`, 'of a cut text also a beginning');
  t.equal(jsonWithoutSecrets('{"a":"p4ssw0rd\\"x"}', ['p4ssw0rd"x', 'zz']), '{"a":"p4ssw0rd\\"x"}'.replace(/p.*x/, R));
  t.equal(jsonWithoutSecrets('{"a":"to\\/the\\/door"}', ['to/the/door']), `{"a":"${R}"}`);
  t.equal(jsonWithoutSecrets('{"a":"to\\u002fthe\\u002Fdoor"}', ['to/the/door']), `{"a":"${R}"}`);
  t.equal(jsonWithoutSecrets('{"12345678":"\\u0073k-abcdefgh"}', configured), `{"${R}":"${R}"}`);
  t.equal(jsonWithoutSecrets('{"\\u0061":"\\u00e9"}', configured), '{"\\u0061":"\\u00e9"}', 'nothing is taken out');
  t.equal(jsonWithoutSecrets('["\\nabcdefgh"]', ['nabcdefgh']), '["\\nabcdefgh"]', 'a part of an escape is no letter');
  t.equal(jsonWithoutSecrets('{"a":12345678}', configured), undefined, 'a number cannot be replaced');
  t.equal(
    writeBody({ bytes: Buffer.from('{"a":12345678}'), isCut: false, mostBytes: 99, secrets: configured }).json,
    `"{\\"a\\":${R}}"`,
  );
});

await test('the texts of JSON are without secrets as they are by themselves, whatever is escaped', (t) => {
  const secrets = ['to/the/door', 'p4"x\\y', '12345678'];
  const known = [
    ...secrets,
    'sk-',
    'abcdefgh',
    'a1b2c3d4e5',
    'Bearer ',
    'eyJ',
    '.',
    '_',
    '"',
    '\\ ',
    '\n',
    '\t',
    'é',
    '😀',
    ',',
  ];
  const text = fc.array(fc.constantFrom(...known), { maxLength: 12 }).map((parts) => parts.join(''));
  const escaped = fc.array(fc.nat(3), { minLength: 1, maxLength: 9 });
  const isSame = (texts: readonly string[], numbers: readonly number[]): boolean => {
    let index = 0;
    // Each escape of JSON, and each character.
    const written = (said: string): string =>
      JSON.stringify(said).replace(/\\.|[^"]/gsu, (letter) => {
        const character = JSON.parse(`"${letter}"`) as string;
        index += 1;
        if (numbers[index % numbers.length] !== 0 || character.length > 1) return letter === '/' ? '\\/' : letter;
        return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
      });
    const json = `[${texts.map(written).join(',')}]`;
    const clean = JSON.parse(jsonWithoutSecrets(json, secrets) ?? '');
    return JSON.stringify(clean) === JSON.stringify(texts.map((said) => withoutSecrets(said, secrets)));
  };
  fc.assert(fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), escaped, isSame), runs(1_000));
  t.end();
});

await test('no text takes the square of its length', async (t) => {
  const size = 1024 * 1024;
  for (const piece of [
    'eyJ',
    '-eyJ',
    ' eyJ',
    'sk-',
    'Bearer ',
    'bearer  ',
    '?key=',
    'gho_',
    '\\',
    '"',
    '\\u0041',
    'AKIA',
  ]) {
    const text = piece.repeat(size / piece.length);
    const tookMs = watchTime();
    withoutSecrets(text, ['secret-of-a-provider'], true);
    jsonWithoutSecrets(JSON.stringify(text), ['secret-of-a-provider']);
    t.ok(tookMs() < 1_500, `${piece} ${tookMs()}`);
  }
});

await test('headers are shown once each, within bounds', async (t) => {
  t.same(
    shownHeaders([
      'X-Api-Key',
      'a',
      'Accept',
      'one',
      'accept',
      'two',
      'Proxy-X',
      'b',
      'x-auth-user',
      'c',
      'X-RateLimit-Limit-Tokens',
      '9',
    ]),
    {
      'x-api-key': R,
      accept: 'one',
      'proxy-x': R,
      'x-auth-user': R,
      'x-ratelimit-limit-tokens': '9',
    },
  );
  const names =
    'ocp-apim-subscription-key x-forwarded-authorization x-functions-key x-auth passwd x-pwd dpop x-vault-key';
  for (const name of names.split(' ')) t.same(shownHeaders([name, 'value']), { [name]: R }, name);
  t.same(shownHeaders(['x-upstream', 'Basic dXNlcjpw']), { 'x-upstream': R }, 'a scheme of credentials');
  t.same(shownHeaders(['idempotency-key', 'order 7', 'x-note', 'basic']), {
    'idempotency-key': 'order 7',
    'x-note': 'basic',
  });
  const protocol = ['Sec-WebSocket-Protocol', 'realtime, openai-insecure-api-key.abc, v1'];
  t.same(shownHeaders(protocol), { 'sec-websocket-protocol': `realtime, openai-insecure-api-key.${R}, v1` });
  const many = Array.from({ length: 200 }, (_, index) => [`h${index}`, 'v']).flat();
  t.equal(Object.keys(shownHeaders(many)).length, 64);
  t.ok(
    JSON.stringify(shownHeaders(Array.from({ length: 20 }, (_, i) => [`h${i}`, 'v'.repeat(2_000)]).flat())).length <
      17_000,
  );
  t.same(Object.keys(shownHeaders(['__proto__', 'x'])), ['__proto__']);
  t.same(
    shownHeaders(['x-note', 'I am plain-key-1'], ['plain-key-1']),
    { 'x-note': `I am ${R}` },
    'a key without a form',
  );
});

await test('bodies without room are left out, and what was taken is given back', async (t) => {
  const limit = 64 * 1024;
  const budget = new CaptureBudget(16 * limit);
  const passed: Buffer[] = [];
  const client: Sink = {
    write: (chunk) => passed.push(chunk) > 0,
    end: () => undefined,
  };
  const open = (stream: boolean) => {
    const capture = new BodyCapture(budget, limit);
    return { capture, sink: capture.tapOf({ stream }, 'chat').open(client) };
  };
  const facts = { secrets: [], model: 'm', nowMs: 0, isObject: false };
  const first = open(false);
  first.sink.write(Buffer.from('a'.repeat(50_000)));
  t.ok(budget.taken >= 50_000 && budget.taken <= limit);
  const crowded = [open(false), open(true)];
  for (const { sink } of crowded)
    for (let piece = 0; piece < 30; piece += 1) sink.write(Buffer.from('data: x'.repeat(100)));
  t.ok(budget.taken <= limit);
  t.equal(passed.length, 61, 'the client has all of it');
  for (const { capture } of crowded) t.equal(capture.answer(facts).isTooBig, true);
  t.equal(first.capture.answer(facts).json?.length, 50_002);
  for (const { capture } of [first, ...crowded]) capture.release();
  first.capture.release();
  t.equal(budget.taken, 0);
});

await test('a stream takes bounded memory, whatever it says', async (t) => {
  const limit = 16 * 1024;
  const facts = { requestBody: undefined, model: 'm', nowMs: 0 };
  const foldOf = (operation: 'chat' | 'messages') => foldFor(operation) as StreamFold;
  const endless = new StreamCapture(foldOf('chat'), limit);
  for (let piece = 0; piece < 100; piece += 1) {
    endless.push(Buffer.from(piece === 0 ? 'data: ' : 'x'.repeat(10_000)));
    t.ok(endless.length <= limit + 10_000);
  }
  t.same([endless.isCut, endless.json(facts)], [true, undefined]);
  const event = (type: string, more: object) => Buffer.from(`data: ${JSON.stringify({ type, index: 0, ...more })}\n\n`);
  const silent = new StreamCapture(foldOf('messages'), limit);
  silent.push(event('message_start', { message: { id: 'msg_1', model: 'm' } }));
  silent.push(
    event('content_block_start', { content_block: { type: 'server_tool_use', id: 'a', name: 'b', input: {} } }),
  );
  const piece = event('content_block_delta', { delta: { type: 'input_json_delta', partial_json: 'x'.repeat(1_000) } });
  for (let index = 0; index < 300; index += 1) silent.push(piece);
  t.equal(silent.isCut, true);
  t.match(JSON.parse(silent.json(facts) ?? ''), { id: 'msg_1', content: [], stop_reason: null });
});

await test('the texts of a stream are joined, whatever characters and padding they have', async (t) => {
  const chunk = (content: string, more = '') =>
    `{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}},"finish_reason":null}]${more}}`;
  const padded = (content: string, padding: string) => chunk(content, `,"obfuscation":"${padding}"`);
  const said = ['one', ' "two"', '\n\\', ' дом', '', 'model', '"},"finish_reason":"stop"}],"x":[{"y":{"z":"', ' end'];
  const events = [
    ...said.map((text) => chunk(text)),
    ...said.map((text, index) => padded(text, 'x'.repeat(index))),
    chunk('thought').replace('content', 'reasoning_content'),
    ...said.map((text) => chunk(text)),
    '{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
    '[DONE]',
  ];
  for (const cut of [1, 7, 1_000]) {
    const capture = new BodyCapture(new CaptureBudget(1e9), 64 * 1024);
    const sink = capture.tapOf({ stream: true }, 'chat').open({
      write: () => true,
      end: () => undefined,
    });
    const bytes = Buffer.from(events.map((data) => `data: ${data}\n\n`).join(''));
    for (let at = 0; at < bytes.length; at += cut) sink.write(bytes.subarray(at, at + cut));
    const { json = '' } = capture.answer({ secrets: [], model: 'm', nowMs: 0, isObject: false });
    const { choices } = JSON.parse(json) as { choices: { message: object; finish_reason: string }[] };
    const text = said.join('');
    t.match(choices, [
      { message: { content: text + text + text, reasoning_content: 'thought' }, finish_reason: 'stop' },
    ]);
  }
});

await test('what a provider says beside its choices is in the answer, and a list that each chunk repeats is there once', async (t) => {
  const limit = 16 * 1024;
  const citations = ['https://example.com/a', 'https://example.com/b'];
  const chunk = (content: string, finish_reason: string | null, more: object) =>
    `data: ${JSON.stringify({ id: 'c', created: 1, model: 'm', choices: [{ index: 0, delta: { content }, finish_reason }], ...more })}\n\n`;
  const fold = foldFor('chat') as StreamFold;
  const capture = new StreamCapture(fold, limit);
  const pieces = Array.from({ length: 400 }, (_, nonce) => chunk('a', null, { service_tier: null, citations, nonce }));
  const last = chunk('', 'stop', { service_tier: 'flex', system_fingerprint: 'fp', obfuscation: 'xy' });
  for (const piece of [...pieces, last, 'data: [DONE]\n\n']) capture.push(Buffer.from(piece));
  const answer = capture.answer({ requestBody: undefined, model: 'm', nowMs: 0 });
  t.match(answer, { citations, nonce: 399, service_tier: 'flex', system_fingerprint: 'fp', object: 'chat.completion' });
  t.notOk(answer && 'obfuscation' in answer, 'letters that hide a length say nothing');
  t.equal(capture.isCut, false);
  const endless = new StreamCapture(foldFor('chat') as StreamFold, limit);
  for (let name = 0; name < 400; name += 1)
    endless.push(Buffer.from(chunk('a', null, { [`n${name}`]: 'x'.repeat(99) })));
  endless.stop();
  t.ok((endless.json({ requestBody: undefined, model: 'm', nowMs: 0 }) ?? '').length <= limit, 'it is bounded');
  const many = new StreamCapture(foldFor('chat') as StreamFold, 2 ** 20);
  for (let name = 0; name < 400; name += 1) many.push(Buffer.from(chunk('a', null, { [`n${name}`]: 0 })));
  const told = many.answer({ requestBody: undefined, model: 'm', nowMs: 0 }) ?? {};
  t.equal(Object.keys(told).filter((name) => /^n\d/.test(name)).length, 64, 'and so are its names');
});
