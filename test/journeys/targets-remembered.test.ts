// What the gateway remembers of the targets of an alias decides who is asked; operators see it in metrics, status and log.
import { t as suite, test } from 'tap';
import type { Field } from '../support/fake-upstream/entry.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(60_000);

/** A model for each kind of memory. What is remembered of one says nothing of the others, and a model with plenty left is not read again for 100 ms. */
const models = ['broken', 'spent', 'chats'];
const [dying, well] = await Promise.all([startFakeUpstream({ t: suite }), startFakeUpstream({ t: suite })]);
const provider = (url: string, more: object = {}) => ({ type: 'openai', base_url: url, models, ...more });
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
