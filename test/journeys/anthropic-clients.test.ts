// What clients of Anthropic get besides the answer itself: models in their format, ids, limits and errors under the names they read.
import Anthropic, { NotFoundError } from '@anthropic-ai/sdk';
import { t as suite, test } from 'tap';
import { componentProblems } from '../support/api-description.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey } from '../support/gateway.ts';
import { shareGateway } from '../support/shared.ts';

const models = ['small', 'middle', 'large'];
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'small',
  content: [{ type: 'text', text: 'Hello!' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 3 },
};
const upstream = await startFakeUpstream({ t: suite, models });
const limits = [{ period: 'hour', max_requests: 2, max_tokens: 1000 }];
const gateway = await shareGateway({
  config: {
    providers: {
      claude: { type: 'anthropic', base_url: upstream.url, api_key: 'key', models, allow_private: true },
      other: { type: 'openai', base_url: upstream.url, api_key: 'key', models: ['gpt'], allow_private: true },
    },
    aliases: [{ source: 'chat', target: 'claude/small' }],
    rate_limits: { user_paths: ['/limited', '/others'].map((path) => ({ path, limits })) },
  },
});
const client = new Anthropic({ apiKey: masterKey, baseURL: gateway.url, maxRetries: 0 });
const version = { 'anthropic-version': '2023-06-01' };
const ask = (path: string, body: object, headers: Record<string, string> = {}) =>
  gateway.fetch(path, { method: 'POST', body, headers });
const question = { max_tokens: 16, messages: [{ role: 'user' as const, content: 'hi' }] };
suite.beforeEach(() => upstream.behave({ kind: 'json', body: message }));

await test('models are listed in pages, which the SDK follows', async (t) => {
  const listed: string[] = [];
  for await (const { id, type } of client.models.list({ limit: 2 })) listed.push(`${type} ${id}`);
  t.strictSame(
    listed,
    ['chat', 'claude/large', 'claude/middle', 'claude/small', 'other/gpt'].map((id) => `model ${id}`),
  );
  t.match(await client.models.retrieve('chat'), { id: 'chat', type: 'model', display_name: 'chat' });
  t.match(await client.models.retrieve('claude/large'), { id: 'claude/large' }, 'the SDK escapes the slash');
});

await test('without the header they are in the format of OpenAI, whatever the query says', async (t) => {
  const plain = await gateway.fetch('/v1/models?limit=0');
  t.match(await plain.json(), { object: 'list', data: [{ id: 'chat', object: 'model' }] });
  t.equal(plain.headers.get('request-id'), null);
  const named = await gateway.fetch('/v1/models', { headers: version });
  t.equal(named.headers.get('request-id'), named.headers.get('x-request-id'));
  t.strictSame(componentProblems('ModelList', await named.json()), []);
  const one = await gateway.fetch('/v1/models/chat', { headers: version });
  t.strictSame(componentProblems('Model', await one.json()), []);
});

await test('errors are in the shape that the SDK reads', async (t) => {
  for (const [path, status, code] of [
    ['/v1/models/none', 404, 'model_not_found'],
    ['/v1/models?limit=0', 400, 'invalid_query'],
    ['/v1/nothing', 404, 'route_not_found'],
  ] as const) {
    const refused = await gateway.fetch(path, { headers: version });
    const id = refused.headers.get('request-id');
    t.equal(refused.status, status, path);
    const body = await refused.json();
    t.match(body, { type: 'error', error: { code }, request_id: id }, path);
    t.strictSame(componentProblems('ModelError', body), [], path);
  }
  await t.rejects(client.models.retrieve('none'), NotFoundError);
});

/** Its headers that speak of limits, under the names of Anthropic. */
function toldLimits(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('anthropic-ratelimit-')));
}

await test('limits and ids have the names of Anthropic on its endpoints, in answers and in refusals', async (t) => {
  const path = { 'x-gateway-user-path': '/limited' };
  const before = Date.now();
  const answered = await ask('/v1/messages', { model: 'chat', ...question }, path);
  const headers = answered.headers;
  t.equal(answered.status, 200);
  t.strictSame(await answered.json(), message);
  t.equal(headers.get('request-id'), headers.get('x-request-id'));
  const told = toldLimits(headers);
  t.match(told, {
    'anthropic-ratelimit-requests-limit': '2',
    'anthropic-ratelimit-requests-remaining': '1',
    'anthropic-ratelimit-tokens-limit': '1000',
    'anthropic-ratelimit-tokens-remaining': '1000',
  });
  t.equal(Object.keys(told).length, 6);
  const reset = told['anthropic-ratelimit-requests-reset'] ?? '';
  t.match(reset, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  const seconds = Number(headers.get('x-ratelimit-reset-requests'));
  t.ok(Math.abs(Date.parse(reset) - (before + seconds * 1000)) < 5_000, `${reset} is in ${seconds} s`);

  await (await ask('/v1/messages', { model: 'chat', ...question }, path)).body?.cancel();
  const refused = await ask('/v1/messages', { model: 'chat', ...question }, path);
  t.equal(refused.status, 429);
  t.match(toldLimits(refused.headers), {
    'anthropic-ratelimit-requests-limit': '2',
    'anthropic-ratelimit-requests-remaining': '0',
    'anthropic-ratelimit-requests-reset': /^\d{4}-.*Z$/,
  });
  t.match(await refused.json(), { type: 'error', error: { type: 'rate_limit_error' } });
});

await test('clients of OpenAI are not told them', async (t) => {
  await upstream.behave({ kind: 'openai' });
  const answered = await ask(
    '/v1/chat/completions',
    { model: 'gpt', ...question },
    { 'x-gateway-user-path': '/others' },
  );
  t.equal(answered.status, 200);
  t.equal(answered.headers.get('x-ratelimit-remaining-requests'), '1');
  t.strictSame(toldLimits(answered.headers), {});
  t.equal(answered.headers.get('request-id'), null);
  await answered.body?.cancel();
});

await test('tokens are estimated for a provider that cannot count them', async (t) => {
  const { data, request_id: id } = await client.messages.countTokens({ model: 'gpt', ...question }).withResponse();
  t.ok(data.input_tokens > 0);
  t.match(id, /^req_/);
});

await test('a thread goes on without one where the provider has none, with all that was said', async (t) => {
  await upstream.behave({ kind: 'openai' });
  const thread = client.beta.messages.thread({
    model: 'other/gpt',
    max_tokens: 16,
    unsupportedRequestBehavior: 'continue_unthreaded',
  });
  await thread.send({ role: 'user', content: 'one' });
  await thread.send({ role: 'user', content: 'two' });
  const { messages }: { messages: { role: string }[] } = Object(upstream.ledger.at(-1)?.json());
  t.same(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'user'],
  );
  const refused = await ask('/v1/messages', { ...question, model: 'other/gpt', thread: { type: 'create' } });
  t.match(
    [refused.status, await refused.json()],
    [400, { error: { param: 'thread', details: { error_code: 'thread_unsupported_request' } } }],
  );
  await upstream.behave({ kind: 'json', body: message });
  t.equal((await ask('/v1/messages', { ...question, model: 'chat', thread: { type: 'create' } })).status, 200);
  t.match(upstream.ledger.at(-1)?.json(), { thread: { type: 'create' } }, 'Anthropic gets it as it is');
});
