// A provider without a list of models is asked for it: away at the start, coming back, changing its mind, failing, and away at a restart.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { type Behaviour, type Entry, startFakeUpstream } from '../support/fake-upstream.ts';
import { providerKey, startGateway } from '../support/gateway.ts';
import { readinessOf } from '../support/operator.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);

const [live, steady] = await Promise.all([startFakeUpstream({ t: suite }), startFakeUpstream({ t: suite })]);
await live.behave({ kind: 'refused' });

const listing = (...ids: unknown[]): Behaviour => ({ kind: 'json', body: { data: ids.map((id) => ({ id })) } });
/** What the provider answers to questions for its models; everything else is answered well. */
const behave = (behaviour: Behaviour): Promise<void> =>
  live.behave((entry: Entry) => (entry.method === 'GET' ? behaviour : undefined));

const discovery = { include: ['m*'], exclude: ['*-preview'], refresh: '100ms' };
const provider = { type: 'openai', base_url: live.url, api_key: `\${TEST_PROVIDER_KEY}` };
const config = {
  providers: {
    live: { ...provider, discovery },
    steady: { type: 'openai', base_url: steady.url, models: ['s'] },
  },
  aliases: [
    { source: 'chat', strategy: 'failover', targets: [{ model: 'live/m1' }, { model: 'steady/s' }] },
    { source: 'late', target: 'm4' },
    { source: 'family/*', target: 'live/*' },
  ],
  rate_limits: { models: [{ model: 'live/m2', limits: [{ period: 'hour', max_requests: 1 }] }] },
};
const gateway = await startGateway(suite, { config, env: { GATEWAY_INSTANCE: 'one' } });

async function call(model: string): Promise<number> {
  const body = { model, messages: [{ role: 'user', content: 'a' }] };
  const response = await gateway.fetch('/v1/chat/completions', { method: 'POST', body });
  await response.text();
  return response.status;
}
async function listed(): Promise<string> {
  const { data } = (await (await gateway.fetch('/v1/models')).json()) as { data: { id: string }[] };
  return data.map(({ id }) => id).join(' ');
}
const untilListed = (names: string) => waitFor(`the models ${names}`, async () => (await listed()) === names);
const lines = (text: string) => gateway.process.stdout.filter((line) => line.includes(text));
const metric = (name: string) => gateway.metric(`gateway_discovery_${name}`, { provider: 'live' });
const posts = () => live.ledger.filter(({ method }) => method === 'POST').length;

await test('a provider that is away at the start has no models, and the others serve', async (t) => {
  t.equal(await call('live/m1'), 404);
  t.equal(await call('chat'), 200, 'its target is left out of the alias');
  t.equal(await call('late'), 404);
  t.equal(await listed(), 'chat steady/s');
  t.match(await readinessOf(gateway), { http: 200, status: 'degraded', reasons: ['provider_models_unknown'] });
  t.equal(lines('the alias \\"chat\\" is without its target \\"live/m1\\"').length, 1);
  await waitFor('a line about the provider', () => lines('models could not be discovered').length === 1);
  await waitFor('several failures', async () => ((await metric('failures_total')) ?? 0) > 2);
  t.equal(lines('models could not be discovered').length, 1, 'said once');
  t.equal(await metric('models'), 0);
  t.equal(await metric('last_success_timestamp_seconds'), 0);
});

await test('once it is there, its models are asked for, listed and limited', async (t) => {
  await behave(listing('m1', 'm2', 'm3-preview', 'x1', ' m', 7, null, 'm1'));
  await untilListed('chat family/m1 family/m2 live/m1 live/m2 steady/s');
  t.match(live.ledger[0], { method: 'GET', target: '/v1/models' });
  t.match(
    live.ledger[0]?.headers.filter(([name]) => /auth|content/.test(name)),
    [['authorization', `Bearer ${providerKey}`]],
  );
  t.match(await readinessOf(gateway), { status: 'ready' });
  for (const model of ['live/m1', 'm1', 'family/m1', 'chat']) t.equal(await call(model), 200, model);
  t.equal(posts(), 4);
  t.same([await call('m2'), await call('live/m2')], [200, 429], 'a rule for a model that was not there before');
  t.same([await call('x1'), await call('m3-preview')], [404, 404], 'the filters');
  t.match(
    lines('"models changed"').map((line) => JSON.parse(line) as object),
    [{ provider: 'live', count: 2, added: ['m1', 'm2'] }],
  );
  t.equal(lines('models are left out').length, 1);
  t.equal(await metric('models'), 2);
  t.ok(Math.abs(Date.now() / 1000 - ((await metric('last_success_timestamp_seconds')) ?? 0)) < 10);
});

await test('a change is in force like a reload; one that cannot be used changes nothing', async (t) => {
  await behave(listing('m2', 'm4'));
  const names = 'chat family/m2 family/m4 late live/m2 live/m4 steady/s';
  await untilListed(names);
  t.match(JSON.parse(lines('"models changed"').at(-1) ?? '{}'), { count: 2, added: ['m4'], removed: ['m1'] });
  const before = posts();
  t.same([await call('m1'), await call('late'), await call('chat')], [404, 200, 200]);
  t.equal(posts(), before + 1, 'the alias asks its other target');
  const broken: Behaviour[] = [
    listing(),
    { kind: 'error', status: 500 },
    { kind: 'html' },
    { kind: 'json', body: '{"data":' },
    { kind: 'endless-body' },
    { kind: 'redirect', location: `${steady.url}/models` },
  ];
  for (const behaviour of broken) {
    const failures = (await metric('failures_total')) ?? 0;
    await behave(behaviour);
    await waitFor(`${behaviour.kind} to fail`, async () => ((await metric('failures_total')) ?? 0) > failures + 1);
    t.equal(await listed(), names, behaviour.kind);
  }
  t.match(await readinessOf(gateway), { status: 'ready' });
});

await test('a restart while it is away serves what it said last', async (t) => {
  const path = join(gateway.dataDir, 'one', 'models.json');
  t.equal(statSync(path).mode & 0o777, 0o600);
  const kept = readFileSync(path, 'utf8');
  t.match(kept, 'm4');
  for (const secret of [providerKey, live.url]) t.notMatch(kept, secret);
  await live.behave({ kind: 'refused' });
  await gateway.restart();
  t.equal(await listed(), 'chat family/m2 family/m4 late live/m2 live/m4 steady/s');
  t.match(await readinessOf(gateway), { status: 'ready' });
  t.equal(await call('chat'), 200);
});

await test('other filters are in force at once, another address has an inventory of its own', async (t) => {
  const filtered = { ...provider, discovery: { ...discovery, include: ['m4'] } };
  await gateway.applyConfig({ 'gateway.yaml': { ...config, providers: { ...config.providers, live: filtered } } });
  t.equal(await listed(), 'chat family/m4 late live/m4 steady/s');
  const moved = { ...filtered, base_url: `${live.url}/other` };
  await gateway.applyConfig({ 'gateway.yaml': { ...config, providers: { ...config.providers, live: moved } } });
  t.equal(await listed(), 'chat steady/s');
});

await test('no request asks for models', async (t) => {
  await behave(listing('m1'));
  const rare = { ...config.providers, live: { ...provider, discovery: { refresh: '1h' } } };
  await gateway.applyConfig({ 'gateway.yaml': { providers: rare } });
  await untilListed('live/m1 steady/s');
  const asked = live.ledger.length;
  for (const model of ['live/m1', 'live/unknown', 'unknown'])
    for (let count = 0; count < 5; count += 1) await call(model);
  t.equal(live.ledger.slice(asked).filter(({ method }) => method === 'GET').length, 0);
});
