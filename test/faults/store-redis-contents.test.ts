// Redis takes no writes, is full, is emptied, or holds what the planes have not written: what is in force stays in force.
import { t as suite, test } from 'tap';
import { ask, statusesOf, usageOf } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { checkUnharmed, roomyConfig, underLoad } from '../support/load.ts';
import {
  askAdmin,
  dayRule,
  delaysUntil,
  delaysUntilCap,
  listRules,
  manualCaps,
  reasonsOf,
  untilDegraded,
} from '../support/operator.ts';
import { waitFor } from '../support/wait-for.ts';
import { documentOf, namesOfPoisoned, poisoned } from './store-redis-contents-cases.ts';

suite.setTimeout(100_000);
const upstream = await startFakeUpstream({ t: suite });
const fleet = await startFleet(suite, { store: 'redis', upstream, config: roomyConfig() });
const [first, second] = fleet.proxies as readonly [Gateway, Gateway];
if (fleet.redis === undefined) throw new Error('there is no Redis');
const client = fleet.redis.client();
const state = '{gateway}:state';

const put = (path: string, cap: number) => askAdmin(first, 'PUT', dayRule(path, cap));
const untilCap = (path: string, cap: number) => delaysUntilCap(fleet.proxies, path, cap);

await fleet.recovered();

await test('a replica without its primary takes no writes: the admin API says so, reads work, limits hold', async (t) => {
  t.equal((await put('/replica', 2)).status, 200);
  await untilCap('/replica', 2);
  const before = await manualCaps(fleet);
  t.teardown(() => client.replicaof('NO', 'ONE'));
  await underLoad(t, fleet, async () => {
    await client.replicaof('127.0.0.1', '1');
    await untilDegraded(fleet);
    for (let count = 0; count < 3; count += 1) {
      const { status, code, retryAfter } = await put('/replica', 9);
      t.match([status, code, retryAfter], [503, /^store_(read_only|unavailable)$/, '1']);
    }
    await waitFor('the reason', async () => (await put('/replica', 9)).code === 'store_read_only');
    await waitFor('a listing', async () => (await askAdmin(first)).status === 200);
    t.same(await statusesOf(first, '/replica', 3), [200, 200, 429]);
    await client.replicaof('NO', 'ONE');
  });
  t.same(await manualCaps(fleet), before);
  t.equal((await put('/replica', 3)).status, 200);
});

await test('a full server: writes are refused as such, reads and deletions work, limits hold', async (t) => {
  t.equal((await put('/full', 2)).status, 200);
  t.equal((await put('/full/deleted', 2)).status, 200);
  const issued = await fleet.admin('/admin/auth-keys', { method: 'POST', body: { name: 'ann' } });
  const { id, value } = (await issued.json()) as { id: string; value: string };
  const withKey = { headers: { authorization: `Bearer ${value}` } };
  await untilCap('/full', 2);
  const before = await manualCaps(fleet);
  t.teardown(() => client.config('SET', 'maxmemory', '0'));
  await underLoad(t, fleet, async () => {
    await client.config('SET', 'maxmemory', '1');
    await untilDegraded(fleet);
    for (let count = 0; count < 3; count += 1) {
      const { status, code, retryAfter } = await put('/full/new', 9);
      t.same([status, code, retryAfter], [503, 'store_full', '1']);
      t.equal((await askAdmin(first)).status, 200);
    }
    t.equal(
      (await askAdmin(first, 'DELETE', { user_path: '/full/deleted', limit_key: { period: 'day' } })).status,
      200,
    );
    t.same(await statusesOf(first, '/full', 3), [200, 200, 429]);
    t.equal((await fleet.admin(`/admin/auth-keys/${id}/deactivate`, { method: 'POST' })).status, 204);
    await delaysUntil(
      fleet.proxies,
      'a revocation',
      async (proxy) => (await ask(proxy, '/', {}, withKey)).status === 401,
    );
    await client.config('SET', 'maxmemory', '0');
  });
  const { '/full/deleted': _, ...left } = before;
  t.same(await manualCaps(fleet), left);
  t.equal((await put('/full', 3)).status, 200);
});

const flushedField = `${'user_path 86400 /flushed'.length}:user_path 86400 /flushed:`;
/** Whether the store has what the first proxy has counted for `/flushed`. */
const isCounted = async (): Promise<boolean> =>
  (await client.hexists('{gateway}:counters:proxy-1', flushedField)) === 1;

await test('emptied with FLUSHALL: rules stay in force, it is said, and everything is written back, counters too', async (t) => {
  t.equal((await put('/flushed', 2)).status, 200);
  await untilCap('/flushed', 2);
  t.same(await statusesOf(first, '/flushed', 3), [200, 200, 429]);
  const before = { caps: await manualCaps(fleet), storeId: await client.hget(state, 'store_id') };
  const emptied = async (value: number): Promise<boolean> => {
    const gauges = await Promise.all(fleet.proxies.map((proxy) => proxy.metric('gateway_state_store_emptied')));
    return gauges.every((gauge) => gauge === value);
  };
  await waitFor('the counter to be written', isCounted);
  t.ok(await emptied(0));
  t.teardown(() => fleet.controlPlane.signal('SIGCONT'));
  await underLoad(
    t,
    fleet,
    async () => {
      // While the process that could write the rules back cannot.
      fleet.controlPlane.signal('SIGSTOP');
      await client.flushall();
      await waitFor('the proxies to say so', () => emptied(1));
      t.ok((await reasonsOf(first)).includes('state_store_emptied'));
      await waitFor('the counter to be written again without the rules', isCounted);
      t.same(await statusesOf(first, '/flushed', 2), [429, 429]);
      t.equal(await client.hget(state, 'store_id'), null);
      fleet.controlPlane.signal('SIGCONT');
      await waitFor('the rules to be written back', () => emptied(0));
      t.same(await statusesOf(first, '/flushed', 2), [429, 429]);
      await first.process.kill();
      await first.restart();
      t.same(await statusesOf(first, '/flushed', 1), [429], 'also for a proxy that has forgotten everything');
    },
    { proxies: [second] },
  );
  t.same(await manualCaps(fleet), before.caps);
  t.equal(await client.hget(state, 'store_id'), before.storeId);
  t.equal((await put('/flushed', 3)).status, 200);
  await untilCap('/flushed', 3);
});

await test('emptied, and noticed by a proxy only when the rules were written back already: its counters are written again', async (t) => {
  const used = async (): Promise<number | undefined> =>
    (await usageOf(first, '/flushed')).find(({ subject }) => subject === '/flushed')?.requests_used;
  t.same(await statusesOf(first, '/flushed', 2), [200, 429]);
  t.equal(await used(), 3);
  t.teardown(() => first.process.signal('SIGCONT'));
  await underLoad(
    t,
    fleet,
    async () => {
      first.process.signal('SIGSTOP');
      await client.flushall();
      await waitFor('the rules to be written back', () => client.hexists(state, 'store_id'));
      first.process.signal('SIGCONT');
      await waitFor('the counter to be written again', isCounted);
      await first.process.kill();
      await first.restart();
      t.equal(await used(), 3);
      t.same(await statusesOf(first, '/flushed', 1), [429]);
    },
    { proxies: [second] },
  );
});

await test('poisoned documents, counters and heartbeats: each costs only itself, and the log names it', async (t) => {
  const before = await manualCaps(fleet);
  const lines = [first, second].map(({ process }) => process.stdout.length);
  await underLoad(t, fleet, async () => {
    // What lies there beside the changes that the gateway has made is found where all is read: the number says that something has changed.
    await client
      .multi()
      .hset(state, ...poisoned.flat())
      .hincrby(state, 'revision', 1)
      .exec();
    await client.hset('{gateway}:counters:proxy-1', '24:user_path 86400 /poison:', 'garbage', 'garbage', '1');
    // In one step: a proxy writes its own keys at any moment.
    await client
      .multi()
      .del('{gateway}:counters:proxy-2', '{gateway}:counter-expiry:proxy-2', '{gateway}:heartbeat-times')
      .set('{gateway}:counters:proxy-2', 'a text')
      .rpush('{gateway}:counter-expiry:proxy-2', 'a', 'list')
      .sadd('{gateway}:heartbeat-times', 'a set')
      .exec();
    await client.hset('{gateway}:heartbeats', 'nobody', '{', 'proxy-1', 'garbage');
    t.equal((await put('/poison', 2)).status, 200);
    await untilCap('/poison', 2);
    t.same(await statusesOf(first, '/poison', 3), [200, 200, 429]);
    await client.hdel(state, ...poisoned.map(([field]) => field));
    await client.hincrby(state, 'revision', 1);
  });
  t.same(await manualCaps(fleet), { ...before, '/poison': 2 }, 'the others are there');
  for (const [index, { process }] of [first, second].entries()) {
    const said = process.stdout.slice(lines[index]).join('\n');
    const unnamed = namesOfPoisoned.filter(
      (name) => !new RegExp(`stored [a-z_]+ \\\\"([^"]* )?${name}\\\\" cannot be read`).test(said),
    );
    t.same(unnamed, [], 'each is named');
    t.match(said, /the stored rate_limit \\"deep\\" has no good seal/);
  }
  await waitFor('counters of the right type', async () => (await client.type('{gateway}:counters:proxy-2')) === 'hash');
});

await test('a rule that a newer version wrote, with unknown members, is enforced by its known members', async (t) => {
  const [field, value] = documentOf(
    '/newer',
    { burst: 5, windows: [{ seconds: 1 }], max_images: null },
    ',"signed_by":"x"',
  );
  await underLoad(t, fleet, async () => {
    await client.hset(state, field, value);
    await client.hincrby(state, 'revision', 1);
    await untilCap('/newer', 2);
    t.same(await statusesOf(second, '/newer', 3), [200, 200, 429]);
  });
  t.match(
    (await listRules(fleet)).find(({ subject }) => subject === '/newer'),
    { max_requests: 2, period_seconds: 86_400 },
  );
  t.equal((await put('/newer', 5)).status, 200);
  await untilCap('/newer', 5);
  t.same(await statusesOf(second, '/newer', 4), [200, 200, 200, 429], 'its counter went on');
});

await test('a store that a newer version has taken over is left alone, and used again when it is as before', async (t) => {
  const before = await manualCaps(fleet);
  const version = await client.hget(state, 'version');
  t.teardown(() => client.hset(state, 'version', version ?? ''));
  await underLoad(t, fleet, async () => {
    await client.hset(state, 'version', '99');
    const lying = await client.hgetall(state);
    for (const attempt of [put('/newer', 9), put('/newer/more', 9)]) {
      const { status, code, retryAfter } = await attempt;
      t.same([status, code, retryAfter], [503, 'store_unavailable', '1']);
    }
    t.match(await askAdmin(first), { status: 200, isStale: true });
    t.same(await client.hgetall(state), lying, 'nothing was written');
    await untilDegraded(fleet);
    t.same(await statusesOf(second, '/newer', 1), [429], 'limits hold');
    t.same(await statusesOf(first, '/newer', 6), [200, 200, 200, 200, 200, 429]);
    await client.hset(state, 'version', version ?? '');
  });
  t.same(await manualCaps(fleet), before);
});

await test('no process logged an unexpected failure, and none ended', async (t) => {
  checkUnharmed(t, fleet, upstream);
});
