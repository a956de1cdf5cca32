// What the gateway remembers of the targets of an alias decides who is asked; operators see it in metrics, status and log.
import { t as suite, test } from 'tap';
import type { Field } from '../support/fake-upstream/entry.ts';
import { type Behaviour, startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { rst } from '../support/steps.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);

/** A model for each kind of memory. What is remembered of one says nothing of the others, and a model with plenty left is not read again for 100 ms. */
const models = ['broken', 'spent', 'chats', 'fails', 'cuts', 'hears', 'passes', 'rests'];
const [dying, well] = await Promise.all([startFakeUpstream({ t: suite }), startFakeUpstream({ t: suite })]);
const provider = (url: string, more: object = {}) => ({
  type: 'openai',
  base_url: url,
  models,
  dialects: ['chat', 'audio'],
  ...more,
});
const configOf = (more: object = {}) => ({
  providers: { dying: provider(dying.url, more), well: provider(well.url) },
  aliases: models.map((model) => ({
    source: `pair-${model}`,
    strategy: model === 'chats' ? 'session_affinity' : 'failover',
    targets: [{ model: `dying/${model}` }, { model: `well/${model}` }],
  })),
});
const fleet = await startFleet(suite, { store: 'sqlite', proxies: 1, config: configOf() });
const [proxy] = fleet.proxies as readonly [Gateway];

async function call(model: string, thread?: string): Promise<number> {
  const body = { model, messages: [{ role: 'user', content: 'a' }], ...(thread && { prompt_cache_key: thread }) };
  const response = await proxy.fetch('/v1/chat/completions', { method: 'POST', body });
  await response.text();
  return response.status;
}
const metric = (name: string, model: string): Promise<number | undefined> =>
  proxy.metric(`gateway_target_${name}`, { provider: 'dying', model });

interface Unusable {
  readonly provider: string;
  readonly reason: string;
}

/** The reasons for which the proxy prefers other targets to `dying`. */
async function reasons(): Promise<string[]> {
  const status = await (await fleet.admin('/admin/status')).json();
  const { proxies } = status as { proxies: readonly { readonly unusable_targets: readonly Unusable[] }[] };
  return proxies.flatMap(({ unusable_targets: all }) => all).map(({ provider: name, reason }) => `${name} ${reason}`);
}

/** A breaker is open for 1 s, then for 2 s, 4 s and so on: so many probes fit into that time. */
const mostProbes = (ms: number): number => Math.floor(Math.log2(1 + ms / 1000));

await test('a dead target sees only probes, also after a reload, and is named to operators once', async (t) => {
  await dying.behave({ kind: 'error', status: 500 });
  const startedMs = performance.now();
  for (let request = 0; request < 5; request += 1) t.equal(await call('pair-broken'), 200);
  t.ok(((await metric('breaker_state', 'broken')) ?? 0) > 0, 'its breaker is not closed');
  t.equal(dying.ledger.length, 5);
  await proxy.applyConfig({ 'gateway.yaml': configOf({ headers: { 'X-Changed': 'yes' } }) });
  for (let request = 0; request < 50; request += 1) t.equal(await call('pair-broken'), 200);
  const probes = dying.ledger.length - 5;
  const ms = performance.now() - startedMs;
  t.ok(probes <= mostProbes(ms), `${probes} probes in ${Math.round(ms)} ms`);
  await waitFor('the status to name it', async () =>
    (await reasons()).some((reason) => reason.startsWith('dying breaker_')),
  );
  const lines = () => proxy.process.stdout.filter((line) => line.includes('dying/broken fails'));
  await waitFor('a line of the log', () => lines().length > 0);
  t.equal(lines().length, 1);
  await dying.behave({ kind: 'openai' });
  await waitFor(
    'a probe to find it well',
    async () => (await call('pair-broken')) === 200 && (await metric('breaker_state', 'broken')) === 0,
    20_000,
  );
  await waitFor('the status to be empty', async () => (await reasons()).length === 0);
});

/** Asks for something that is passed on as it is; gives the status, `cut` when the answer breaks off. */
async function pass(path: string, body: string, type = 'application/json'): Promise<number | 'cut'> {
  const response = await proxy.fetch(path, { method: 'POST', body, headers: { 'content-type': type } });
  return response.arrayBuffer().then(
    () => response.status,
    () => 'cut' as const,
  );
}

await test('calls that are passed on are remembered of their model, too: one that fails is asked last', async (t) => {
  const speech = (model: string): Promise<number | 'cut'> => pass('/v1/audio/speech', JSON.stringify({ model }));
  const field = (name: string, value: string): string =>
    `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const form = (model: string): string => `${field('model', model)}${field('file', 'x')}--b--\r\n`;
  const hear = (model: string) => pass('/v1/audio/transcriptions', form(model), 'multipart/form-data; boundary=b');
  const failing: Behaviour = { kind: 'error', status: 500 };
  const cut: Behaviour = { kind: 'sse', chunks: ['a', rst], headers: [['content-type', 'audio/mpeg']] };
  const rows: [string, Behaviour, (model: string) => Promise<number | 'cut'>, number | 'cut', number][] = [
    // The other target answers; what passes through is asked of one.
    ['fails', failing, speech, 200, 5],
    // Each has begun well, so half of the last calls must have failed.
    ['cuts', cut, speech, 'cut', 10],
    ['hears', failing, hear, 200, 5],
    ['passes', failing, () => pass('/p/dying/chat/completions', '{"model":"passes","messages":[]}'), 500, 5],
  ];
  await well.behave({ kind: 'json', body: {} });
  for (const [model, behaviour, ask, status, count] of rows) {
    await dying.behave(behaviour);
    t.equal(await metric('breaker_state', model), 0, model);
    for (let request = 0; request < count; request += 1) t.equal(await ask(`pair-${model}`), status, model);
    t.ok(((await metric('breaker_state', model)) ?? 0) > 0, `${model}: its breaker is not closed`);
    t.equal(await speech(`pair-${model}`), 200, `${model}: the other one is asked`);
  }
  await dying.behave({ kind: 'error', status: 404, message: 'The model does not exist.' });
  t.same([await speech('pair-rests'), await metric('resting', 'rests')], [200, 1]);
  t.equal(await speech('pair-rests'), 200);

  await dying.behave({ kind: 'json', body: {} });
  const first = (model: string) => metric('first_byte_seconds', model);
  t.equal(await first('fails'), undefined);
  await waitFor('a probe to find it well', async () => {
    await speech('pair-fails');
    return (await metric('breaker_state', 'fails')) === 0;
  });
  t.ok(((await first('fails')) ?? 0) > 0, 'how soon it answers');
  await well.behave({ kind: 'openai' });
});

await test('a target whose answers say that nothing is left is asked last, and asked at all', async (t) => {
  const headers: Field[] = [
    ['x-ratelimit-limit-requests', '60'],
    ['x-ratelimit-remaining-requests', '0'],
    ['x-ratelimit-reset-requests', '1h'],
  ];
  const body = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } };
  await dying.behave({ kind: 'json', body, headers });
  t.equal(await call('pair-spent'), 200);
  const before = dying.ledger.length;
  for (let request = 0; request < 5; request += 1) t.equal(await call('pair-spent'), 200);
  t.equal(dying.ledger.length, before, 'the other one is asked');
  t.equal(await metric('quota_remaining', 'spent'), 0);
  t.equal(await call('dying/spent'), 200, 'no prediction refuses a request');
  t.equal(dying.ledger.length, before + 1);
  await waitFor('the status to say why', async () => (await reasons()).includes('dying quota_used_up'));
});

await test('learn_limits: false ignores what answers say, and have said', async (t) => {
  await proxy.applyConfig({ 'gateway.yaml': configOf({ learn_limits: false }) });
  const before = dying.ledger.length;
  for (let request = 0; request < 5; request += 1) t.equal(await call('pair-spent'), 200);
  t.equal(dying.ledger.length, before + 5);
});

await test('a conversation keeps its target', async (t) => {
  await dying.behave({ kind: 'openai' });
  const homes = new Set<string>();
  for (let thread = 0; thread < 12; thread += 1) {
    const before = [dying.ledger.length, well.ledger.length];
    for (let turn = 0; turn < 3; turn += 1) t.equal(await call('pair-chats', `thread-${thread}`), 200);
    const turns = [dying.ledger.length, well.ledger.length].map((count, index) => count - (before[index] ?? 0));
    t.ok(turns.includes(3), turns.join(' '));
    homes.add(turns.join(' '));
  }
  t.equal(homes.size, 2, 'and both have some');
});
