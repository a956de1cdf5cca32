// Answers that cannot be translated, or break off while they are: SDKs throw, nothing leaks, and what has passed is charged.
import { gzipSync } from 'node:zlib';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { t as suite, test } from 'tap';
import { fin, type Step, silence, startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway, untilIdle } from '../support/gateway.ts';
import { watchTime } from '../support/slowdown.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const secret = 'prov/secret+key"0123456789';
const tenant = 'tenant-header-value-42';
const provider = {
  base_url: upstream.url,
  api_key: secret,
  headers: { 'x-tenant': tenant },
  models: ['m'],
  circuit_breaker: false,
};
const gateway = await startGateway(suite, {
  config: {
    server: { access_log: 'all' },
    providers: {
      chat: { ...provider, type: 'openai' },
      anthropic: { ...provider, type: 'anthropic', timeouts: { stream_idle: '300ms' } },
      bedrock: { ...provider, type: 'bedrock', api_key: `AKIAIOSFODNN7EXAMPLE:${secret}` },
    },
  },
});
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.masterKey, maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.masterKey, maxRetries: 0 });

const asked = { max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hello?' }] };
const json = (value: unknown): string => JSON.stringify(value);
const chatEvent = (delta: object): string =>
  `data: ${json({ id: 'c', model: 'm', choices: [{ index: 0, delta }] })}\n\n`;
const event = (type: string, members: object = {}): string => `event: ${type}\ndata: ${json({ type, ...members })}\n\n`;
const started = event('message_start', {
  message: { id: 'msg_1', model: 'm', usage: { input_tokens: 7, output_tokens: 1 } },
});
const opened = event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
const said = (text: string): string => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
const failure = event('error', {
  error: { type: 'overloaded_error', message: `Key ${secret} of ${tenant} has too much to do.` },
});

async function post(path: string, body: object): Promise<{ status: number; text: string; id: string }> {
  const response = await gateway.fetch(path, { method: 'POST', body });
  const id = response.headers.get('x-request-id') ?? '';
  return { status: response.status, text: await response.text(), id };
}

/** The line of a request in the access log, once it is there. */
function lineOf(id: string | undefined): Promise<Record<string, unknown>> {
  return waitFor('its line', () => gateway.process.requests().find(({ request_id }) => request_id === id));
}

function errorOf(error: unknown): unknown {
  return error;
}

suite.afterEach(() => untilIdle(gateway));

await test('SDKs throw when a translated stream breaks off, and no secret is told', async (t) => {
  const endings: [string, Step, string][] = [
    ['the provider says an error', failure, 'overloaded_error'],
    ['the provider closes', fin, 'stream_incomplete'],
    ['the provider stalls', silence, 'upstream_timeout'],
  ];
  const model = 'anthropic/m';
  const { messages } = asked;
  for (const [name, ending, code] of endings) {
    await upstream.behave({ kind: 'sse', chunks: [started, opened, said('Hel'), ending] });
    const streams: (() => Promise<AsyncIterable<unknown>>)[] = [
      async () => openai.chat.completions.create({ model, messages, stream: true }),
      async () => openai.responses.create({ model, input: 'Hello?', stream: true }),
      async () => openai.completions.create({ model, prompt: 'Hello?', stream: true }),
    ];
    for (const open of streams) {
      const pieces: unknown[] = [];
      const read = async (): Promise<void> => {
        for await (const piece of await open()) pieces.push(piece);
      };
      await t.rejects(read(), { code, type: 'provider_error', error: { provider: 'anthropic', param: null } }, name);
      t.ok(pieces.length > 0, `${name}: what came before was told`);
      t.notMatch(json(pieces), secret.slice(0, 11));
    }
  }
  await upstream.behave({ kind: 'sse', chunks: [chatEvent({ content: 'Hel' }), fin] });
  const broken = await anthropic.messages
    .stream({ ...asked, model: 'chat/m' })
    .finalMessage()
    .catch(errorOf);
  const told = { type: 'api_error', code: 'stream_incomplete', provider: 'chat', param: null };
  t.match(broken, { error: { type: 'error', error: told } });
});

await test('what a provider says in an error is told without secrets, and not at any length', async (t) => {
  const long = `The key ${secret} of ${tenant} is no good. `.repeat(20_000);
  for (const status of [400, 401, 500]) {
    await upstream.behave({
      kind: 'json',
      status,
      body: { error: { type: 'x', message: long, ratio: 1.5, id: 12345678901234567890n.toString() } },
    });
    const { text } = await post('/v1/responses', { model: 'anthropic/m', input: 'x' });
    t.ok(text.length < 4_000, `${status} is told in ${text.length} bytes`);
    t.notMatch(text, /prov\/|secret|tenant-h/, `${status} tells no secret`);
  }
  await upstream.behave({
    kind: 'json',
    status: 422,
    body: '{"type":"error","error":{"type":"x","message":"No.","ratio":1.0}}',
  });
  const { text } = await post('/v1/responses', { model: 'anthropic/m', input: 'x' });
  t.match(text, '"ratio":1.0', 'numbers stay as they are');
  await upstream.behave({
    kind: 'sse',
    chunks: [started, opened, said('Hel'), failure.replace('Key', 'Key '.repeat(5_000))],
  });
  const streamed = await post('/v1/chat/completions', { ...asked, model: 'anthropic/m', stream: true });
  t.ok(streamed.text.length < 4_000);
  const log = gateway.process.stdout.join('\n');
  for (const word of [secret, json(secret).slice(1, -1), tenant]) t.notOk(log.includes(word), 'nor does the log');
});

await test('an answer that makes no sense is a 502, whatever is wrong with it', async (t) => {
  const deep = '['.repeat(1 << 20);
  const answers: [string, string | object][] = [
    ['nested without end', `{"id":"a","content":${deep}${deep.replaceAll('[', ']')}}`],
    ['no content', { type: 'message' }],
    ['a call without a name', { content: [{ type: 'tool_use', input: { key: secret } }] }],
    ['no block', { content: [secret] }],
  ];
  for (const [name, body] of answers) {
    await upstream.behave({ kind: 'json', body });
    const tookMs = watchTime();
    const { status, text } = await post('/v1/chat/completions', { ...asked, model: 'anthropic/m' });
    t.match({ status, text }, { status: 502, text: '"upstream_invalid_response"' }, name);
    t.ok(tookMs() < 3_000, `${name}: at once`);
  }
  await upstream.behave({ kind: 'json', body: { id: 'a', choices: [] } });
  t.match(await post('/v1/messages', { ...asked, model: 'chat/m', stream: true }), {
    status: 502,
    text: 'it has no choice',
  });
  await upstream.behave({ kind: 'sse', chunks: [chatEvent({ content: 'Hel' })] });
  t.match(await post('/v1/messages', { ...asked, model: 'chat/m' }), { status: 502, text: 'is not complete' });
});

await test('long and compressed answers are translated whole', async (t) => {
  const content = 'Hello. '.repeat(50_000);
  const answer = (message: object): string =>
    json({ id: 'c', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] });
  const headers = [['content-encoding', 'gzip'] as const];
  await upstream.behave({ kind: 'json', body: gzipSync(answer({ content })), headers });
  const whole = await post('/v1/messages', { ...asked, model: 'chat/m' });
  t.match(JSON.parse(whole.text), { content: [{ type: 'text', text: content }] });
  const events = `${chatEvent({ content })}${chatEvent({}).replace('}}]', '},"finish_reason":"stop"}]')}data: [DONE]\n\n`;
  await upstream.behave({ kind: 'sse', chunks: [gzipSync(events)], headers });
  const streamed = await post('/v1/messages', { ...asked, model: 'chat/m', stream: true });
  // A long text is told in pieces.
  const told = [...streamed.text.matchAll(/"text_delta","text":"([^"]*)"/g)].map(([, piece]) => piece);
  t.equal(told.join(''), content);
  t.ok(streamed.text.includes('event: message_stop'));
  const calls = (length: number): object[] =>
    Array.from({ length }, (_, index) => ({ id: `${index}`, function: { name: 'f', arguments: '{}' } }));
  await upstream.behave({ kind: 'json', body: answer({ content: null, tool_calls: calls(10_000) }) });
  const many = JSON.parse((await post('/v1/messages', { ...asked, model: 'chat/m' })).text) as { content: unknown[] };
  t.equal(many.content.length, 10_000);
  await upstream.behave({ kind: 'json', body: answer({ content: null, tool_calls: calls(130_000) }) });
  const more = await post('/v1/messages', { ...asked, model: 'chat/m' });
  t.match(more.text, /not a JSON object, or has too many values/, 'what has more values than can be read is refused');
});

await test('a stream that ends too soon is charged for what has passed', async (t) => {
  const words = Array.from({ length: 200 }, (_, index) => said(`word ${index} `));
  const question = { ...asked, model: 'anthropic/m', stream: true };
  await upstream.behave({ kind: 'sse', chunks: [started, opened, ...words, fin] });
  const broken = await lineOf((await post('/v1/chat/completions', question)).id);
  t.match(broken, { status: 502, error_code: 'stream_incomplete', prompt_tokens: 7, tokens_source: 'partial' });
  t.ok(Number(broken['completion_tokens']) >= 200, 'not for the one token that was reported at the beginning');

  await upstream.behave({ kind: 'sse', chunks: [started, opened, ...words, silence] });
  const index = upstream.ledger.length;
  const { messages } = asked;
  const call = openai.chat.completions.create({ model: 'anthropic/m', messages, stream: true });
  const { data: stream, response } = await call.withResponse();
  let pieces = 0;
  for await (const _ of stream) {
    pieces += 1;
    if (pieces === 150) break;
  }
  const abandoned = await lineOf(response.headers.get('x-request-id') ?? '');
  t.match(abandoned, { status: 499, prompt_tokens: 7, tokens_source: 'partial' });
  t.ok(Number(abandoned['completion_tokens']) >= 149);
  await waitFor('the provider to be let go', () => upstream.ledger[index]?.clientClosedAtMs !== undefined);

  const usage = { output_tokens: 321 };
  const ended = event('message_delta', { delta: { stop_reason: 'end_turn' }, usage });
  await upstream.behave({ kind: 'sse', chunks: [started, opened, ...words, ended, event('message_stop')] });
  const whole = await lineOf((await post('/v1/chat/completions', question)).id);
  t.match(whole, { prompt_tokens: 7, completion_tokens: 321, tokens_source: 'reported' });
});
