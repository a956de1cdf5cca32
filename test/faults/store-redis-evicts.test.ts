// A Redis that drops keys by itself: it is said from the start, gets nothing new, and is not written to in a hot loop.
import { t as suite, test } from 'tap';
import { ask } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { askAdmin, dayRule, reasonsOf } from '../support/operator.ts';
import { startRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);
const upstream = await startFakeUpstream({ t: suite });
const redis = await startRedis(suite, { args: ['--maxmemory-policy', 'allkeys-lru'] });
const fleet = await startFleet(suite, { store: 'redis', redis, upstream, proxies: 1 });
const [proxy] = fleet.proxies as readonly [Gateway];
const client = redis.client();

interface Status {
  readonly store: { readonly evicts: string | null; readonly write_backs: number };
}

const storeOf = async ({ admin }: Fleet): Promise<Status['store']> =>
  ((await (await admin('/admin/status')).json()) as Status).store;

/** How often a script has put the whole state in place: nothing else deletes a key. */
async function rewrites(): Promise<number> {
  return Number(/cmdstat_del:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0);
}

await test('it is said at the start in every place, and new documents are refused until it is mended', async (t) => {
  await waitFor('the reason', async () => (await reasonsOf(proxy)).includes('state_store_evicts'));
  const ready = (await (await fleet.admin('/health/ready')).json()) as { reasons: string[] };
  t.ok(ready.reasons.includes('state_store_evicts'));
  t.equal(await proxy.metric('gateway_state_store_evicts'), 1);
  t.match((await storeOf(fleet)).evicts, /allkeys-lru.*set maxmemory-policy to noeviction/);
  for (const part of [fleet.controlPlane, proxy.process])
    t.match(
      part.logs().filter(({ msg }) => String(msg).includes('allkeys-lru')),
      [{ level: 'error' }],
      'one line',
    );
  t.match(await askAdmin(proxy, 'PUT', dayRule('/new', 1)), { status: 503, code: 'store_evicts' });
  await client.config('SET', 'maxmemory-policy', 'noeviction');
  await waitFor('it to be taken', async () => (await askAdmin(proxy, 'PUT', dayRule('/new', 1))).status === 200);
  await fleet.recovered();
});

await test('while it goes on dropping everything, what is in force stays, and few writes and lines are made', async (t) => {
  const issued = await fleet.admin('/admin/auth-keys', { method: 'POST', body: { name: 'ann', user_path: '/team' } });
  const { id, value } = (await issued.json()) as { id: string; value: string };
  const withKey = { headers: { authorization: `Bearer ${value}` } };
  await fleet.settle();
  const before = { rewrites: await rewrites(), lines: fleet.controlPlane.logs().length };
  t.teardown(() => client.config('SET', 'maxmemory', '0'));
  await client.config('SET', 'maxmemory-policy', 'allkeys-random');
  await client.config('SET', 'maxmemory', '1');
  await waitFor('two write-backs', async () => (await rewrites()) >= before.rewrites + 2);
  t.equal((await ask(proxy, '/', {}, withKey)).status, 200, 'the key goes on');
  const [made, lines] = [(await rewrites()) - before.rewrites, fleet.controlPlane.logs().length - before.lines];
  t.ok(made <= 3, `${made} times`);
  t.ok(lines <= 30, `${lines} lines`);
  await client.config('SET', 'maxmemory', '0');
  await client.config('SET', 'maxmemory-policy', 'noeviction');
  await fleet.recovered();
  t.equal((await ask(proxy, '/', {}, withKey)).status, 200);
  t.equal((await fleet.admin(`/admin/auth-keys/${id}/deactivate`, { method: 'POST' })).status, 204);
  await waitFor('the revocation', async () => (await ask(proxy, '/', {}, withKey)).status === 401);
});
