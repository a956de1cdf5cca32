// The contract of kept items on a real Redis server, and what only a server can do: be killed, be full, hold foreign keys.
import { type Test, test } from 'tap';
import type { KeptKey } from '../../store/state/kept-items.ts';
import { redisKeys } from '../../store/state/redis/keys.ts';
import { openRedisStore, type RedisStore } from '../../store/state/redis/store.ts';
import { countClients, type RedisServer, startDetour, startRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { testKept } from './kept-items-cases.ts';
import { rejection } from './state-store-case-tools.ts';
import { redis } from './state-store-engines.ts';

await testKept(redis);

const a: KeptKey = { kind: 'response', id: 'a', owner: '/team' };
const keys = redisKeys('gateway');
const nowMs = (): number => 1_000;

function open(t: Test, { url: redisUrl }: Pick<RedisServer, 'url'>, timeoutMs = 100): RedisStore {
  const store = openRedisStore({ redisUrl, nowMs, timeoutMs });
  t.teardown(() => store.close());
  return store;
}

await test('a killed server is said, and what was kept is there when it is back', async (t) => {
  const server = await startRedis(t, { appendOnly: true, args: ['--appendfsync', 'always'] });
  const { kept } = open(t, server);
  await kept.put(a, Buffer.from('x'), 600_000);
  await server.kill();
  for (const asked of [kept.get(a), kept.put(a, Buffer.from('y'), 600_000), kept.remove(a)]) {
    t.match(await rejection(asked), { name: 'StoreUnavailable', reason: 'unreachable' });
  }
  await server.restart();
  await waitFor('the item', () =>
    kept.get(a).then(
      (found) => found?.toString() === 'x',
      () => false,
    ),
  );
  t.equal(await kept.remove(a), true);
});

await test('nothing is connected before the first use, and everything there ends by itself', async (t) => {
  const server = await startRedis(t);
  const store = open(t, server);
  await store.revision();
  const client = server.client();
  const before = await countClients(client);
  await store.kept.put(a, Buffer.from('x'), 61_000);
  t.equal(await countClients(client), before + 1);
  const written = await client.keys('*');
  t.equal(written.length, 6);
  for (const key of written) {
    const left = await client.pttl(key);
    t.ok(left > 50_000 && left <= 60_000, `${key} ends in ${left} ms`);
  }
});

await test('items follow the store to another address', async (t) => {
  const server = await startRedis(t);
  const detour = await startDetour(t, server);
  const store = open(t, detour);
  await store.kept.put(a, Buffer.from('x'), 600_000);
  t.equal(await store.reconnect(server.url, () => undefined), true);
  detour.silence();
  t.same(await store.kept.get(a), Buffer.from('x'));
});

await test('a full server refuses, and foreign keys in the place of indexes are replaced', async (t) => {
  const server = await startRedis(t, { args: ['--maxmemory', '4mb'] });
  // The first item is long.
  const { kept } = open(t, server, 300);
  const full = kept.put(a, Buffer.alloc(6 * 1024 * 1024), 600_000);
  await full.then(undefined, (error: unknown) => t.match(error, { reason: 'full' }));
  const next = kept.put({ ...a, id: 'b' }, Buffer.from('x'), 600_000);
  t.match(await rejection(next), { name: 'StoreUnavailable', reason: 'full' });
  const client = server.client();
  await client.config('SET', 'maxmemory', '0');
  await client.flushall();
  for (const key of [keys.keptSizes, keys.keptSums, keys.keptEnds, keys.keptOrderOfAll, keys.keptOrder(a.owner)]) {
    await client.set(key, 'garbage');
  }
  t.equal(await kept.remove(a), false);
  await kept.put(a, Buffer.from('x'), 600_000);
  t.same(await kept.get(a), Buffer.from('x'));
  await client.hset(keys.keptSums, 'all', 'garbage');
  await kept.put(a, Buffer.from('y'), 600_000);
  t.equal(await client.hget(keys.keptSums, 'all'), '513');
});
