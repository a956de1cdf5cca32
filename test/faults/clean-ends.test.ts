// A stream whose connection ends cleanly, although its answer did not, is incomplete for every client: also where its bytes are relayed.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway, untilIdle } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const usual = { models: ['m'], circuit_breaker: false, learn_limits: false, api_key: 'k', base_url: upstream.url };
const gateway = await startGateway(suite, {
  config: {
    server: { access_log: 'all' },
    providers: {
      chat: { ...usual, type: 'openai', dialects: ['chat', 'completions'] },
      messages: { ...usual, type: 'anthropic' },
      responses: { ...usual, type: 'openai', dialects: ['responses'] },
    },
  },
});

const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (content: string, finish_reason: string | null, index = 0): string =>
  data({ id: 'c', model: 'm', choices: [{ index, delta: { content }, finish_reason }], usage: null });
const text = (said: string, finish_reason: string | null): string =>
  data({ id: 'c', model: 'm', choices: [{ index: 0, text: said, finish_reason }] });
const named = (type: string, members: object = {}): string => `event: ${type}\n${data({ type, ...members })}`;
const done = 'data: [DONE]\n\n';
const begun =
  named('message_start', { message: { id: 'msg_1', usage: { input_tokens: 1, output_tokens: 1 } } }) +
  named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
  named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hel' } });
const created = named('response.created', { response: { id: 'resp_1', status: 'in_progress', output: [] } });
const delta = named('response.output_text.delta', { output_index: 0, item_id: 'm', delta: 'Hel' });

const doors = {
  chat: ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello?' }] }],
  completions: ['/v1/completions', { prompt: 'Hello?' }],
  messages: ['/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: 'Hello?' }] }],
  responses: ['/v1/responses', { input: 'Hello?', store: false }],
} as const;
type Door = keyof typeof doors;

async function ask(door: Door, more: object = {}): Promise<{ text: string; line: Record<string, unknown> }> {
  const [path, body] = doors[door];
  const model = door === 'completions' ? 'chat/m' : `${door}/m`;
  const answer = await gateway.fetch(path, { method: 'POST', body: { ...body, model, stream: true, ...more } });
  const told = await answer.text();
  const id = answer.headers.get('x-request-id');
  const line = await waitFor('its line', () => gateway.process.requests().find(({ request_id }) => request_id === id));
  return { text: told, line };
}

suite.afterEach(() => untilIdle(gateway));

await test('a clean end without the end of the answer is told as an error', async (t) => {
  const cases: [door: Door, chunks: string, more?: object][] = [
    ['chat', chunk('Hel', null)],
    ['chat', chunk('a', 'stop') + chunk('b', null, 1), { n: 2 }],
    ['completions', text('Hel', null)],
    ['messages', begun],
    ['responses', created + delta],
  ];
  for (const [door, chunks, more] of cases) {
    await upstream.behave({ kind: 'sse', chunks: [chunks] });
    const { text: told, line } = await ask(door, more);
    t.ok(told.startsWith(chunks.trimEnd()), `${door}: what came is told`);
    t.match(told.slice(chunks.length), /"code":"stream_incomplete"/, door);
    t.equal(told.split('stream_incomplete').length, door === 'responses' ? 3 : 2, `${door}: once`);
    t.match(line, { error_code: 'stream_incomplete' }, `${door}: and recorded`);
  }
});

await test('an answer that told its end is complete, and gets the last event that it lacks', async (t) => {
  const stopped = named('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } });
  const completed = named('response.completed', { response: { id: 'resp_1', status: 'completed', output: [] } });
  const usage = data({ id: 'c', choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } });
  const cases: [door: Door, chunks: string, lacks: string, more?: object][] = [
    ['chat', chunk('Hel', null) + chunk('lo', 'stop'), done],
    ['chat', chunk('Hel', null) + chunk('lo', 'stop') + usage, done, { stream_options: { include_usage: true } }],
    ['chat', chunk('Hel', null) + done, ''],
    ['chat', chunk('a', 'stop') + chunk('b', 'length', 1), done, { n: 2 }],
    ['completions', text('Hel', 'length'), done],
    ['messages', begun + stopped, named('message_stop')],
    ['messages', begun + stopped + named('message_stop'), ''],
    ['responses', created + delta + completed, ''],
    ['responses', created + delta + completed.trimEnd(), ''],
  ];
  for (const [door, chunks, lacks, more] of cases) {
    await upstream.behave({ kind: 'sse', chunks: [chunks] });
    const { text: told, line } = await ask(door, more);
    t.equal(told, chunks + lacks, door);
    t.match(line, { status: 200, error_code: undefined }, door);
  }
});

await test('an error of the provider in the middle is told once, and recorded', async (t) => {
  const error = { message: 'No.', type: 'server_error' };
  const cases: [door: Door, chunks: string][] = [
    ['chat', chunk('Hel', null) + data({ error })],
    ['chat', chunk('Hel', null) + data({ id: 'c', choices: [], error }) + done],
    ['chat', chunk('Hel', null) + chunk('', 'error') + done],
    ['messages', begun + named('error', { error })],
    ['responses', created + delta + named('response.failed', { response: { status: 'failed', error } })],
  ];
  for (const [door, chunks] of cases) {
    await upstream.behave({ kind: 'sse', chunks: [chunks] });
    const { text: told, line } = await ask(door);
    t.equal(told, chunks, `${door}: as it came`);
    t.match(line, { error_code: 'stream_incomplete' }, door);
  }
});
