// Models without a price, for callers whose spending a budget counts: they are told of, or refused.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { keepThings } from '../support/keeping-provider.ts';
import { refusedSession } from '../support/realtime-client.ts';
import { shareGateway } from '../support/shared.ts';

const upstream = await startFakeUpstream({ t: suite });
const price = { input_per_mtok: 1, output_per_mtok: 2 };
const models = ['free', { id: 'dear', pricing: price }];
/** More than are remembered of one file. */
const many = Array.from({ length: 65 }, (_, index) => ({ id: `dear-${index}`, pricing: price }));
const gateway = await shareGateway({
  config: {
    providers: {
      plain: {
        type: 'openai',
        base_url: upstream.url,
        dialects: ['chat', 'messages', 'audio', 'realtime'],
        models,
      },
      keeping: { type: 'groq', base_url: upstream.url, api_key: 'sk-a', models: [...models, ...many] },
      claude: { type: 'anthropic', base_url: upstream.url, api_key: 'sk-b', models },
    },
    aliases: [{ source: 'either', strategy: 'failover', targets: [{ model: 'plain/free' }, { model: 'plain/dear' }] }],
    budgets: {
      unpriced: 'refuse',
      user_paths: [{ path: '/counted', limits: [{ period: 'daily', amount: 100 }] }],
    },
  },
});

const messages = [{ role: 'user', content: 'hello' }];

async function ask(path: string, body: object, userPath = '/counted/app'): Promise<string> {
  const answer = await gateway.fetch(path, { method: 'POST', headers: { 'x-gateway-user-path': userPath }, body });
  const { error } = (await answer.json().catch(() => ({}))) as { error?: { code: string; message: string } };
  return `${answer.status} ${error?.code ?? 'ok'}${error === undefined ? '' : `: ${error.message}`}`;
}

await test('a caller under a budget asks no model without a price, at any door', async (t) => {
  await upstream.behave({ kind: 'openai' });
  const chat = { model: 'plain/free', messages };
  const said = await ask('/v1/chat/completions', chat);
  t.match(said, /^403 unpriced_model: The model "plain\/free" has no price, and a budget of \/counted counts/);
  t.match(await ask('/v1/audio/speech', { model: 'plain/free', input: 'a', voice: 'b' }), /^403 unpriced_model/);
  t.match(await ask('/p/plain/chat/completions', { model: 'free', messages }), /^403 unpriced_model/);
  t.match(await ask('/p/plain/unknown', { a: 1 }), /^403 unpriced_model/, 'nor what has no model');
  t.equal(upstream.ledger.length, 0, 'nothing was asked');
});

await test('it asks those with a price, and others are free', async (t) => {
  await upstream.behave({ kind: 'openai' });
  t.equal(await ask('/v1/chat/completions', { model: 'plain/dear', messages }), '200 ok');
  t.equal(await ask('/v1/chat/completions', { model: 'either', messages }), '200 ok');
  t.equal(await ask('/p/plain/chat/completions', { model: 'dear', messages }), '200 ok');
  t.same(
    upstream.ledger.slice(-3).map((entry) => (entry.json() as { model: string }).model),
    ['dear', 'dear', 'dear'],
    'an alias leads to its targets with a price',
  );
  t.equal(await ask('/v1/chat/completions', { model: 'plain/free', messages }, '/other'), '200 ok');
});

async function upload(asked: readonly string[]): Promise<string> {
  const body = { messages };
  const lines = asked.map((model, index) => ({
    custom_id: `${index}`,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: `keeping/${model}`, ...body },
  }));
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob([lines.map((line) => `${JSON.stringify(line)}\n`).join('')]), 'in.jsonl');
  const headers = { authorization: `Bearer ${gateway.masterKey}`, 'x-gateway-user-path': '/counted/app' };
  const answer = await fetch(`${gateway.url}/v1/files?provider=keeping`, { method: 'POST', headers, body: form });
  return ((await answer.json()) as { id: string }).id;
}

await test('no batch is begun in which a model has no price, wherever in its file it stands', async (t) => {
  await keepThings(upstream, 'a');
  const begin = async (asked: readonly string[]): Promise<string> =>
    ask('/v1/batches', {
      input_file_id: await upload(asked),
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    });
  t.match(await begin(['dear', 'free']), /^403 unpriced_model: The model "keeping\/free" has no price/);
  t.match(await begin([...many.map(({ id }) => id), 'free']), /^403 unpriced_model: The model "keeping\/free"/);
  t.equal(await begin(['dear']), '200 ok');
});

await test('nor a batch of messages', async (t) => {
  await keepThings(upstream, 'b');
  const begin = (...asked: readonly string[]): Promise<string> =>
    ask('/v1/messages/batches', {
      requests: asked.map((model, index) => ({
        custom_id: `${index}`,
        params: { model: `claude/${model}`, max_tokens: 9, messages },
      })),
    });
  t.match(await begin('dear', 'free'), /^403 unpriced_model: The model "claude\/free" has no price/);
  t.equal(await begin('dear'), '200 ok');
});

await test('nor a session in real time, or what one begins with', async (t) => {
  const asked = upstream.ledger.length;
  const headers = { 'x-gateway-user-path': '/counted/app' };
  const said = /The model "plain\/free" has no price, and a budget of \/counted counts/;
  const { status, error } = await refusedSession(gateway, { query: '?model=plain/free', headers });
  t.match({ status, ...error }, { status: 403, code: 'unpriced_model', message: said });
  const session = { session: { type: 'realtime', model: 'plain/free' } };
  for (const path of ['/v1/realtime/client_secrets', '/v1/realtime/calls'])
    t.match(await ask(path, session), said, path);
  t.equal(upstream.ledger.length, asked, 'nothing was asked');
  const priced = await refusedSession(gateway, { query: '?model=plain/dear', headers });
  t.not(priced.error.code, 'unpriced_model');
});
