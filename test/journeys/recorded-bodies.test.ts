// What the records of a gateway hold of bodies and headers: for each kind of endpoint and answer, within the limit, without keys.
import { gzipSync } from 'node:zlib';
import { t as suite, test } from 'tap';
import type { AuditData, RequestRecord } from '../../domain/records/request-record.ts';
import { type Behaviour, rst, startFakeUpstream } from '../support/fake-upstream.ts';
import { journalText, recordOf } from '../support/journal.ts';
import { shareGateway } from '../support/shared.ts';

const upstream = await startFakeUpstream({ t: suite });
const provider = { base_url: upstream.url, api_key: `\${TEST_PROVIDER_KEY}`, circuit_breaker: false };
const limit = 4 * 1024;
const gateway = await shareGateway({
  config: {
    audit: { bodies: true, headers: true, body_limit: `${limit}B`, without: ['/private'] },
    providers: {
      fake: {
        ...provider,
        type: 'openai',
        dialects: ['chat', 'completions', 'responses', 'audio'],
        models: ['fake-small'],
      },
      claude: { ...provider, type: 'anthropic', models: ['claude'] },
    },
    aliases: [{ source: 'either', targets: [{ model: 'fake/fake-small' }, { model: 'claude/claude' }] }],
  },
});

interface RecordedCall {
  readonly path?: string;
  readonly body: string | Uint8Array | object;
  readonly headers?: Record<string, string>;
  readonly behaviour?: Behaviour | readonly Behaviour[];
}

interface Recorded {
  readonly said: string;
  readonly record: RequestRecord;
  readonly data: AuditData;
}

/** Sends one request after the other, and gives their records and what their clients got. */
async function ask<const Requests extends readonly RecordedCall[]>(
  ...requests: Requests
): Promise<{ [Place in keyof Requests]: Recorded }> {
  const answers: { readonly said: string; readonly id: string }[] = [];
  for (const { path = '/v1/chat/completions', body, headers = {}, behaviour = { kind: 'openai' } } of requests) {
    await upstream.behave(behaviour as Behaviour);
    const response = await gateway.fetch(path, { method: 'POST', body, headers });
    const said = await response.text().catch(() => '');
    answers.push({ said, id: response.headers.get('x-request-id') ?? '' });
  }
  const recorded = answers.map(async ({ said, id }) => {
    const record = await recordOf(gateway, id);
    return { said, record, data: record.data ?? {} };
  });
  return (await Promise.all(recorded)) as { [Place in keyof Requests]: Recorded };
}

const messages = [{ role: 'user', content: 'Hello' }];
const chat = { model: 'fake-small', messages };
function eventText(event: object | string): string {
  const { type } = event as { type?: string };
  const name = type === undefined ? '' : `event: ${type}\n`;
  return `${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`;
}

const sse = (...events: readonly (object | string)[]): Behaviour => ({ kind: 'sse', chunks: events.map(eventText) });
const chunk = (delta: object, finish: string | null = null, index = 0) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index, delta, finish_reason: finish }],
});

await test('JSON is recorded as JSON, whatever its spaces', async (t) => {
  const precise = '{"model":"fake-small","messages":[],"seed":12345678901234567890}';
  const spaced = JSON.stringify(chat, null, 2).replaceAll('\n', '\r\n');
  const [{ data, said }] = await ask({ body: spaced }, { body: precise });
  t.same(data.request_body, chat);
  t.same(data.response_body, JSON.parse(said));
  t.equal(data.request_body_too_big_to_handle, undefined);
  t.equal(data.response_body_too_big_to_handle, undefined);
  t.ok(journalText(gateway).includes(`\x1f${precise}\x1f`), 'no number loses a digit');
});

await test('a stream is recorded as the answer that it tells', async (t) => {
  const body = { ...chat, stream: true };
  const choices = [
    chunk({ content: 'a' }),
    chunk({ content: 'x' }, null, 1),
    chunk({}, 'stop'),
    chunk({}, 'length', 1),
  ];
  const called = (call: object) => chunk({ tool_calls: [{ index: 0, ...call }] });
  const calls = [
    called({ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a"' } }),
    called({ function: { arguments: ':1}' } }),
    chunk({}, 'tool_calls'),
  ];
  const [plain, several, tools] = await ask(
    { body },
    { body, behaviour: sse(...choices, '[DONE]') },
    { body, behaviour: sse(...calls, '[DONE]') },
  );
  const content = 'Hello from the fake upstream, which speaks word by word.';
  const message = { role: 'assistant', content };
  t.match(plain.data.response_body, {
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
  });
  t.match(several.data.response_body, {
    choices: [
      { index: 0, message: { content: 'a' }, finish_reason: 'stop' },
      { index: 1, message: { content: 'x' }, finish_reason: 'length' },
    ],
  });
  const call = { id: 'call_1', function: { name: 'f', arguments: '{"a":1}' } };
  t.match(tools.data.response_body, { choices: [{ message: { tool_calls: [call] } }] });
});

await test('so are those of the other endpoints', async (t) => {
  const text = { id: 'c', object: 'text_completion', created: 1, model: 'm' };
  const completion = sse(
    { ...text, choices: [{ index: 0, text: 'one ', finish_reason: null }] },
    { ...text, choices: [{ index: 0, text: 'two', finish_reason: 'stop' }] },
    '[DONE]',
  );
  const message = sse(
    { type: 'message_start', message: { id: 'msg_1', model: 'claude', usage: { input_tokens: 3, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Good ' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'day' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  );
  const response = { id: 'resp_1', object: 'response', status: 'completed', model: 'm', output: [], vendor: 'kept' };
  const responses = [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    { type: 'response.completed', response },
  ];
  const word = { type: 'response.output_text.delta', output_index: 0, content_index: 0, item_id: 'm', delta: 'Half' };
  const begunWith = [responses[0] ?? {}, word].map(eventText);
  const prompt = { model: 'fake-small', prompt: 'Count', stream: true };
  const input = { model: 'fake-small', input: 'Hi', stream: true };
  const asked = { model: 'claude', max_tokens: 9, messages, stream: true };
  const [completed, told, passed, translated, whole, begun] = await ask(
    { path: '/v1/completions', body: prompt, behaviour: completion },
    { path: '/v1/messages', body: asked, behaviour: message },
    { path: '/p/claude/v1/messages', body: asked, behaviour: message },
    { body: { ...chat, model: 'claude', stream: true }, behaviour: message },
    { path: '/v1/responses', body: input, behaviour: sse(...responses) },
    { path: '/v1/responses', body: input, behaviour: { kind: 'sse', chunks: [...begunWith, rst] } },
  );
  t.match(completed.data.response_body, {
    object: 'text_completion',
    choices: [{ text: 'one two', finish_reason: 'stop' }],
  });
  for (const { data } of [told, passed]) {
    t.match(data.response_body, {
      id: 'msg_1',
      content: [{ type: 'text', text: 'Good day' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 3, output_tokens: 2 },
    });
  }
  t.match(translated.data.response_body, {
    object: 'chat.completion',
    choices: [{ message: { content: 'Good day' } }],
  });
  t.same(whole.data.response_body, response);
  t.match(begun.data.response_body, { id: 'resp_1', object: 'response', status: 'incomplete' });
});

await test('of a stream that breaks off there is what had come', async (t) => {
  const pieces = [chunk({ content: 'Half' }), chunk({ content: ' a' })].map(eventText);
  const behaviour: Behaviour = { kind: 'sse', chunks: [...pieces, rst] };
  const [{ data, record }] = await ask({ body: { ...chat, stream: true }, behaviour });
  t.match(data.response_body, { choices: [{ message: { content: 'Half a' }, finish_reason: null }] });
  t.equal(data.error_code, 'stream_incomplete');
  t.match(record.attempts, [{ success: false }]);
});

await test('texts that are too long are left out or cut, and marked so', async (t) => {
  const long = 'ä'.repeat(limit);
  const words = Array.from({ length: 300 }, (_, index) => chunk({ content: `word ${index} of many words ` }));
  const [asked, answered, told, control, odd] = await ask(
    { body: { ...chat, messages: [{ role: 'user', content: long }] } },
    { body: chat, behaviour: { kind: 'json', body: { choices: [], long } } },
    { body: { ...chat, stream: true }, behaviour: sse(...words, chunk({}, 'stop'), '[DONE]') },
    { path: '/p/fake/any', body: '\u0001'.repeat(limit), behaviour: { kind: 'json', body: {} } },
    // Up to 8 KiB it would be refused.
    { body: chat, behaviour: { kind: 'json', body: `{"${'\u0001'.repeat(9_000)}}` } },
  );
  t.equal(asked.data.request_body, undefined);
  t.equal(asked.data.request_body_too_big_to_handle, true);
  t.equal(answered.data.response_body_too_big_to_handle, true);
  const kept = answered.data.response_body as string;
  t.ok(kept.startsWith('{"choices":[],"long":"ä') && kept.length > limit / 3);
  t.ok(Buffer.byteLength(JSON.stringify(kept)) <= limit + 2);
  t.notMatch(kept, '\ufffd');
  t.match(told.data.response_body, { choices: [{ message: { content: /^word 0 of many words word 1/ } }] });
  t.equal(told.data.response_body_too_big_to_handle, true);
  t.ok(told.said.includes('word 299'), 'the client has all of it');
  t.equal((control.data.request_body as string).length, Math.floor(limit / 6));
  t.ok(
    Buffer.byteLength(JSON.stringify(odd.data.response_body)) <= limit + 2,
    'of an answer that only begins like JSON',
  );
  t.equal(odd.data.response_body_too_big_to_handle, true);
});

await test('text is a string, compressed bytes are read, binary ones are left out', async (t) => {
  const zipped = gzipSync('{"answer":42}');
  const form = new FormData();
  form.set('model', 'fake-small');
  form.set('file', new Blob(['spoken'], { type: 'text/plain' }), 'a.txt');
  const sent = new Response(form);
  const [packed, binary, wrong, broken, parted, uploaded] = await ask(
    {
      path: '/p/fake/any',
      body: 'a=1&b=two',
      behaviour: { kind: 'json', body: zipped, headers: [['content-encoding', 'gzip']] },
    },
    {
      path: '/p/fake/any',
      body: new Uint8Array([0, 255, 254, 1]),
      behaviour: { kind: 'json', body: new Uint8Array([0x89, 0x50, 0, 1]) },
    },
    { body: '{"model":' },
    { path: '/p/fake/any', body: 'a=1', behaviour: { kind: 'json', body: '{"a":1,}' } },
    { path: '/p/fake/any', body: 'a=1', behaviour: { kind: 'json', body: '{"a":\n\u001f1,}' } },
    {
      path: '/v1/audio/transcriptions',
      headers: { 'content-type': sent.headers.get('content-type') ?? '' },
      body: new Uint8Array(await sent.arrayBuffer()),
      behaviour: { kind: 'json', body: { text: 'spoken' } },
    },
  );
  t.equal(packed.data.request_body, 'a=1&b=two');
  t.same(packed.data.response_body, { answer: 42 });
  t.equal(binary.data.request_body, undefined);
  t.equal(binary.data.response_body, undefined);
  t.equal(wrong.data.request_body, '{"model":');
  t.same(wrong.data.response_body, JSON.parse(wrong.said), 'a refusal is an answer, too');
  t.equal(broken.data.response_body, '{"a":1,}', 'what only looks like JSON does not break the line');
  t.equal(parted.data.response_body, '{"a":\n\u001f1,}');
  t.notOk('request_body' in uploaded.data, 'an upload is not recorded, though its bytes are text');
  t.same(uploaded.data.response_body, { text: 'spoken' });
});

await test('headers are recorded without what lets in, and errors of providers with theirs', async (t) => {
  const headers = { cookie: 'a=b', 'X-Team-Token': 't', Referer: 'http://a/?api_key=abc' };
  const said = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [],
    model: 'claude',
    stop_reason: 'end_turn',
  };
  const [well, refused, failing] = await ask(
    { body: chat, headers },
    { body: { ...chat, model: 'unknown' } },
    {
      body: { ...chat, model: 'either' },
      behaviour: [
        { kind: 'error', status: 503, message: 'busy with sk-abcdefghijklmnop' },
        { kind: 'json', body: { ...said, usage: { input_tokens: 1, output_tokens: 1 } } },
      ],
    },
  );
  t.match(well.data.request_headers, {
    authorization: '[REDACTED]',
    cookie: '[REDACTED]',
    'x-team-token': '[REDACTED]',
    referer: 'http://a/?api_key=[REDACTED]',
    'content-type': 'application/json',
  });
  t.match(well.data.response_headers, { 'content-type': 'application/json', 'x-request-id': /^req_/ });
  t.equal(well.data.response_headers?.['set-cookie'], undefined, 'as the client got them');
  t.match(refused.data.response_headers, { 'content-type': /json/, 'content-length': /^\d+$/ });
  const [failed, won] = failing.record.attempts;
  t.match(failed, {
    response_body: { error: { message: 'busy with [REDACTED]' } },
    response_headers: { 'content-type': 'application/json', 'set-cookie': '[REDACTED]' },
  });
  t.equal(won?.response_body, undefined);
});

await test('of some user paths nothing is recorded', async (t) => {
  const [{ data }] = await ask({ body: chat, headers: { 'x-gateway-user-path': '/private/team' } });
  t.same(data, {});
});
