// Speech, images, moderation and ranking: what reaches the provider and what comes back, with the official SDK and without it.
import OpenAI from 'openai';
import { t as suite, test } from 'tap';
import { usageOf } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey, providerKey } from '../support/gateway.ts';
import { issueKey } from '../support/issue-key.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const dialects = ['chat', 'audio', 'images', 'moderations', 'rerank'];
const provider = { type: 'openai', base_url: upstream.url, api_key: `\${TEST_PROVIDER_KEY}`, dialects };
const gateway = await shareGateway({
  config: {
    server: { access_log: 'all' },
    providers: {
      fake: { ...provider, models: ['m1', 'scarce', 'org/deep'] },
      ranker: { ...provider, dialects: ['rerank'], models: ['m1', 'r1'] },
      silent: { ...provider, dialects: ['chat'], models: ['text'] },
    },
    aliases: [
      { source: 'voice', target: 'fake/m1' },
      { source: 'eu/*', target: 'fake/*' },
      { source: 'either', targets: [{ model: 'silent/text' }, { model: 'ranker/r1' }, { model: 'fake/m1' }] },
    ],
    rate_limits: {
      user_paths: [{ path: '/counted', limits: [{ period: 'minute', max_requests: 5, max_tokens: 1_000 }] }],
      models: [{ model: 'fake/scarce', limits: [{ period: 'minute', max_requests: 1 }] }],
    },
  },
});
const client = new OpenAI({ apiKey: masterKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
const sound = Buffer.from([0, 255, 13, 10, 45, 45, 0x7f]);
const last = () => {
  const entry = upstream.ledger.at(-1);
  if (entry === undefined) throw new Error('nothing reached the provider');
  return entry;
};

async function ask(path: string, body: string | object, headers: Record<string, string> = {}) {
  const answer = await gateway.fetch(path, { method: 'POST', body, headers });
  const text = await answer.text();
  const code = answer.status < 400 ? 'ok' : (JSON.parse(text) as { error: { code: string } }).error.code;
  return { said: `${answer.status} ${code}`, text, answer };
}

await test('speech: the bytes of the answer with their type, the body but for the model', async (t) => {
  await upstream.behave({
    kind: 'raw',
    steps: ['HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nContent-Length: 7\r\n\r\n', sound],
  });
  const answer = await client.audio.speech.create({ model: 'voice', voice: 'alloy', input: 'Hello' });
  t.equal(answer.headers.get('content-type'), 'audio/mpeg');
  t.strictSame(Buffer.from(await answer.arrayBuffer()), sound);
  const written = '{ "input" : "\\u0041", "model" :"voice","odd":1.50 }';
  await ask('/v1/audio/speech', written);
  t.equal(last().body.toString(), written.replace('"voice"', '"m1"'));
  t.same([last().method, last().target], ['POST', '/v1/audio/speech']);
  t.equal(last().header('authorization'), `Bearer ${providerKey}`);
  t.equal(last().header('content-type'), 'application/json');
});

await test('each door leads to the path of its name', async (t) => {
  await upstream.behave({ kind: 'json', body: { id: 'x', results: [] } });
  await client.moderations.create({ model: 'fake/m1', input: 'a' });
  t.equal(last().target, '/v1/moderations');
  await client.images.generate({ model: 'eu/org/deep', prompt: 'a' });
  t.match([last().target, last().body.toString()], ['/v1/images/generations', /"model":"org\/deep"/]);
  t.equal((await ask('/v1/rerank', { model: 'either', query: 'q', documents: ['a'] })).said, '200 ok');
  t.match([last().target, last().body.toString()], ['/v1/rerank', /"model":"r1"/], 'the first target that can');
});

await test('a moderation that names no model asks the usual one of a provider that has it', async (t) => {
  await upstream.behave({ kind: 'json', body: { id: 'x', results: [] } });
  t.equal((await client.moderations.create({ input: 'a' })).id, 'x');
  t.same(last().json(), { model: 'omni-moderation-latest', input: 'a' });
  t.equal((await ask('/v1/moderations', '{}')).said, '200 ok');
  t.equal(last().body.toString(), '{"model":"omni-moderation-latest"}');
  t.equal((await ask('/v1/moderations', { model: null, input: 'a' })).said, '400 invalid_model');
});

await test('an event stream passes as it comes', async (t) => {
  const events = ['data: {"type":"speech.audio.delta","audio":"AA=="}\n\n', 'data: {"type":"speech.audio.done"}\n\n'];
  await upstream.behave({ kind: 'sse', chunks: events });
  const { text, answer } = await ask('/v1/audio/speech', { model: 'voice', input: 'a', stream_format: 'sse' });
  t.equal(text, events.join(''));
  t.match(answer.headers.get('content-type'), /^text\/event-stream/);
});

await test('what cannot be asked is refused before anything is sent', async (t) => {
  const before = upstream.ledger.length;
  const path = '/v1/audio/speech';
  const rows: readonly (readonly [string, string | object, string, Record<string, string>?])[] = [
    [path, { model: 'none' }, '404 model_not_found'],
    [path, {}, '400 invalid_model'],
    [path, '{"model":"m1","model":"m1"}', '400 duplicate_key'],
    [path, { model: 'silent/text' }, '400 unsupported_operation'],
    ['/v1/images/generations', { model: 'ranker/r1' }, '400 unsupported_operation'],
    [path, { model: 'voice', input: 'a'.repeat(1 << 20) }, '413 body_too_large'],
    [path, 'model=voice', '415 unsupported_media_type', { 'content-type': 'text/plain' }],
    [path, { model: 'voice' }, '401 invalid_api_key', { authorization: 'Bearer wrong' }],
  ];
  for (const [at, body, said, headers] of rows) t.equal((await ask(at, body, headers)).said, said);
  t.match(
    (await ask(path, { model: 'silent/text' })).text,
    'The model \\"silent/text\\" cannot be asked at /v1/audio/speech',
  );
  t.equal((await gateway.fetch(path)).status, 405);
  t.equal(upstream.ledger.length, before);
});

await test('a key of some models asks these alone', async (t) => {
  const secret = await issueKey(t, gateway, { userPath: '/v', allowedModels: ['voice', 'fake/org/deep'] });
  const headers = { authorization: `Bearer ${secret}` };
  await upstream.behave({ kind: 'json', body: {} });
  t.equal((await ask('/v1/audio/speech', { model: 'voice' }, headers)).said, '200 ok');
  t.equal((await ask('/v1/audio/speech', { model: 'fake/m1' }, headers)).said, '403 model_access_denied');
  const routed = { model: 'voice', provider: { only: ['x'] } };
  t.equal((await ask('/v1/audio/speech', routed, headers)).said, '400 routing_member_not_allowed');
});

await test('limits count, and usage is what the provider reports', async (t) => {
  const headers = { 'x-gateway-user-path': '/counted' };
  const used = async () => (await usageOf(gateway, '/counted'))[0];
  await upstream.behave({
    kind: 'json',
    body: { data: [], usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } },
  });
  await ask('/v1/images/generations', { model: 'voice', prompt: 'a' }, headers);
  t.match(await used(), { requests_used: 1, tokens_used: 7 });
  await upstream.behave({ kind: 'json', body: { results: [], usage: { total_tokens: 20 } } });
  await ask('/v1/rerank', { model: 'ranker/r1' }, headers);
  t.match(await used(), { requests_used: 2, tokens_used: 27 });
  const done = { type: 'speech.audio.done', usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } };
  await upstream.behave({ kind: 'sse', chunks: [`data: ${JSON.stringify(done)}\n\n`] });
  await ask('/v1/audio/speech', { model: 'voice' }, headers);
  t.match(await used(), { requests_used: 3, tokens_used: 30 });
  await upstream.behave({ kind: 'json', body: { results: [{ flagged: false }] } });
  await ask('/v1/moderations', { model: 'voice', input: 'long '.repeat(99) }, headers);
  t.match(await used(), { requests_used: 4, tokens_used: 30 }, 'nothing reported, nothing charged');
  t.equal((await ask('/v1/moderations', { model: 'scarce' })).said, '200 ok');
  t.equal((await ask('/v1/moderations', { model: 'scarce' })).said, '429 rate_limit_exceeded');
});

await test('it is logged and counted as what it is, and nothing failed', async (t) => {
  const line = await waitFor('its line', () =>
    gateway.process
      .requests()
      .findLast(
        (said) =>
          said['endpoint'] === '/v1/images/generations' &&
          said['requested_model'] === 'voice' &&
          said['status'] === 200,
      ),
  );
  t.match(line, { requested_model: 'voice', attempts: [{ provider: 'fake', model: 'm1' }], total_tokens: 7 });
  t.ok(await gateway.metric('gateway_requests_total', { endpoint: '/v1/audio/speech', status: '200' }));
  t.equal(await gateway.metric('gateway_requests_in_flight'), 0);
  t.same(upstream.malformed, []);
  t.notMatch(gateway.process.stdout.join('\n'), /"level":"(error|fatal)"/);
});
