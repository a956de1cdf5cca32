// Redis Cluster: all our keys are on one of its nodes, which is found from any node, and followed when another one takes its place.
import { t as suite, type Test, test } from 'tap';
import { redisAddress } from '../../store/state/redis/address.ts';
import { RedisConnection } from '../../store/state/redis/connection.ts';
import { slotOf } from '../../store/state/redis/find-node.ts';
import type { RedisStore, RedisStoreOptions } from '../../store/state/redis/store.ts';
import { Heard } from '../contracts/limits-engines.ts';
import { attachMessage } from '../support/limit-messages.ts';
import { startRedis } from '../support/redis.ts';
import { openAll, openStore } from '../support/redis-data.ts';
import { startCluster } from '../support/redis-fleet.ts';
import { change, ids, refusal, worked } from '../support/store-calls.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(60_000);

const cluster = await startCluster(suite);
const { url: redisUrl, owner, replica, other } = cluster;

const open = (t: Test, more: Partial<RedisStoreOptions> = {}): RedisStore => openStore(t, redisUrl, more);

/** From the moment that the cluster has another primary until everything works there. Milliseconds. */
const goesOnMs = 1_500;

await test('the slot of our keys is counted as the server does', async (t) => {
  const client = other.client();
  for (const tag of ['gateway', 'a', 'my.gateway-1_a', 'x'.repeat(64), '0']) {
    t.equal(slotOf(tag), await client.call('CLUSTER', 'KEYSLOT', `{${tag}}:state`), tag);
  }
});

await test('every kind of data is on the node that owns our slot, whichever node is named', async (t) => {
  const all = openAll(t, redisUrl);
  const { store } = all;
  await change(store, 'a');
  await all.keep();
  const limits = await new Heard(store.limits).line();
  t.match(await limits.attach(attachMessage('a', { server: limits.server })), { session: 1 });
  await store.writeHeartbeat({ instance: 'i', atMs: 1, body: 1 });
  await store.writeCounters('i', { sequence: 1, nowMs: 0, removed: [], rows: [] });
  await all.goesOn(owner, 'b');
  t.ok((await owner.client().keys('{gateway}:*')).length >= 5);
  for (const prefix of ['one', 'two', 'three', 'four']) {
    const elsewhere = open(t, { prefix });
    await change(elsewhere, prefix);
    t.same(await ids(elsewhere), [prefix], 'each prefix has a slot of its own');
  }
});

await test('a connection that guessed wrong is led to the right node without a failure', async (t) => {
  const connection = new RedisConnection({ address: redisAddress(redisUrl), timeoutMs: 1_000 });
  t.teardown(() => connection.close());
  for (const key of ['{one}:x', '{two}:x', '{three}:x', '{gateway}:x']) {
    t.equal(await connection.ask(['SET', key, '1', 'PX', '1000']), 'OK', key);
  }
});

await test('what is no cluster, and what is one, is said', async (t) => {
  const server = await startRedis(t);
  const asCluster = server.url.replace('redis:', 'redis-cluster:');
  const single = await refusal(openStore(t, asCluster, { timeoutMs: 800 }).read());
  t.match(single.message, /node 127\.0\.0\.1:\d+: .*cluster support disabled.*write redis:\/\/ in REDIS_URL/);
  const node = await refusal(openStore(t, other.url, { timeoutMs: 800 }).read());
  t.match(node.message, /MOVED .*; it is a node of a cluster: write redis-cluster:\/\/ in REDIS_URL/);
});

await test('an owner that hands its slot over, and one that dies, cost no restart', async (t) => {
  const store = open(t);
  await change(store, 'c');
  const heard = new Heard(store.limits);
  const first = await heard.line();
  let attached = 0;
  const attach = async (): Promise<void> => {
    const line = heard.lines.at(-1) ?? first;
    attached += 1;
    await line.attach(attachMessage('b', { server: line.server, connection: attached }));
  };
  await attach();
  const before = await ids(store);
  const role = async (): Promise<string> => String(/role:(\w+)/.exec(await replica.client().info('replication'))?.[1]);
  await replica.client().call('CLUSTER', 'FAILOVER');
  await waitFor('the hand-over', async () => (await role()) === 'master');
  await change(store, 'd');
  t.same((await ids(store)).sort(), [...before, 'd'].sort(), 'the first write after it is led on');
  await waitFor('shared limits', () => worked(attach), goesOnMs);
  t.ok(heard.lines.length > 1, 'on a line to another node');

  await waitFor('the former owner to follow', async () =>
    /master_link_status:up/.test(await owner.client().info('replication')),
  );
  const ownerRole = async (): Promise<string> =>
    String(/role:(\w+)/.exec(await owner.client().info('replication'))?.[1]);
  await replica.kill();
  await waitFor('the election', async () => (await ownerRole()) === 'master');
  const startedMs = performance.now();
  await waitFor('a write', () => worked(() => change(store, 'e')), goesOnMs);
  t.comment(`a write after ${Math.round(performance.now() - startedMs)} ms`);
  t.same((await ids(store)).sort(), [...before, 'd', 'e'].sort());
  await waitFor('shared limits', () => worked(attach), goesOnMs);
});

await test('a slot that is moved to another node is followed; until then what has gone is not there', async (t) => {
  const store = open(t);
  await change(store, 'f');
  const before = await ids(store);
  const [from, to] = [owner.client(), other.client()];
  const slot = slotOf('gateway');
  const [fromId, toId] = await Promise.all([from, to].map(async (node) => String(await node.call('CLUSTER', 'MYID'))));
  await to.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId ?? '');
  await from.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId ?? '');
  const keys = (await from.call('CLUSTER', 'GETKEYSINSLOT', slot, 1_000)) as string[];
  await from.call('MIGRATE', '127.0.0.1', other.port, '', 0, 5_000, 'KEYS', ...keys);
  const moving = await refusal(store.read());
  t.match(moving, { reason: 'unreachable', message: /ASK .*the cluster is electing a primary, or moves our keys/ });
  for (const node of [to, from]) await node.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId ?? '');
  await waitFor('a write', () => worked(() => change(store, 'g')), goesOnMs);
  t.same((await ids(store)).sort(), [...before, 'g'].sort());
  t.ok((await to.exists('{gateway}:state')) > 0);
});
