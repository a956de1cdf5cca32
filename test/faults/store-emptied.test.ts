// A store that lost everything gets its counters back too, also those that have not changed since.
import { t as suite, type Test, test } from 'tap';
import { usageOf } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const rate_limits = { user_paths: [{ path: '/', limits: [{ period: 'day', max_requests: 100 }] }] };
const fleet = await startFleet(suite, { store: 'redis', proxies: 1, upstream, config: { rate_limits } });
const { redis } = fleet;
const [proxy] = fleet.proxies;
if (proxy === undefined || redis === undefined) throw new Error('no fleet');
const client = redis.client();

/** Counts three requests, empties the store somehow, and finds them again after a kill, which leaves only what is stored. */
async function check(t: Test, gateway: Gateway, empty: () => Promise<void>): Promise<void> {
  const usedBefore = (await usageOf(gateway, '/'))[0]?.requests_used ?? 0;
  const stored = async (): Promise<boolean> => (await client.keys('*counters*')).length > 0;
  const body = { model: 'fake-small', messages: [] };
  for (let count = 0; count < 3; count += 1) {
    t.equal((await gateway.fetch('/v1/chat/completions', { method: 'POST', body })).status, 200);
  }
  // A write that began before the last request may end soon after it.
  const enough = Date.now() / 1000 + 0.5;
  const writtenAt = async () => (await gateway.metric('gateway_counters_written_timestamp_seconds')) ?? 0;
  await waitFor('the counters to be stored', async () => (await writtenAt()) > enough);
  t.ok(await stored());
  // A store that never had an id cannot be told from an emptied one.
  await waitFor('both planes to know the id of the store', async () => {
    const { store } = (await (await fleet.admin('/admin/status')).json()) as { store: { store_id: string | null } };
    const beat = (await client.hget('{gateway}:heartbeats', 'proxy-1')) ?? '{}';
    const { body: said } = JSON.parse(beat) as { body?: { store_id: string | null } };
    return store.store_id !== null && said?.store_id === store.store_id;
  });

  await empty();
  await waitFor('the counters to be stored again', stored);
  await gateway.process.kill();
  await gateway.restart();
  t.equal(
    (await usageOf(gateway, '/'))[0]?.requests_used,
    usedBefore + 3,
    'nothing was lost with the store and the process',
  );
}

suite.setTimeout(100_000);

await test('counters of idle rules are written again after FLUSHALL', { timeout: 60_000 }, (t) =>
  check(t, proxy, async () => {
    await client.flushall();
  }),
);

await test('also by a proxy that looks only when the rules were written back already', { timeout: 60_000 }, (t) =>
  check(t, proxy, async () => {
    const { process } = proxy;
    t.teardown(() => process.signal('SIGCONT'));
    process.signal('SIGSTOP');
    await client.flushall();
    await waitFor('the rules to be written back', () => client.hexists('{gateway}:state', 'store_id'));
    process.signal('SIGCONT');
  }),
);
