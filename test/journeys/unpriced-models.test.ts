// Models without a price, for callers whose spending a budget counts: they are told of, or refused.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { shareGateway } from '../support/shared.ts';

const upstream = await startFakeUpstream({ t: suite });
const price = { input_per_mtok: 1, output_per_mtok: 2 };
const gateway = await shareGateway({
  config: {
    providers: {
      plain: {
        type: 'openai',
        base_url: upstream.url,
        dialects: ['chat', 'messages', 'audio'],
        models: ['free', { id: 'dear', pricing: price }],
      },
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
