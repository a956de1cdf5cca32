// The contract of the response cache on a real Redis server, and what only a server can do: be silent, be killed, hold foreign keys.
import { type Test, test } from 'tap';
import { openRedisCache, type RedisCache } from '../../store/cache/redis.ts';
import { redisKeys } from '../../store/state/redis/keys.ts';
import { type RedisServer, startDetour, startRedis } from '../support/redis.ts';
import { asDocumentedUser, documentedUsers } from '../support/redis-user.ts';
import { waitFor } from '../support/wait-for.ts';
import { answerOf, testAnswerCache } from './answer-cache-cases.ts';

const keys = redisKeys('gateway');
const nowMs = 1_700_000_000_000;
/** What a busy machine may add to the time of a request. Milliseconds. */
const toleranceMs = 100;

/** With more patience than in a gateway, so that a busy machine is no silent server; `mostBytes` and `patienceMs` as given otherwise. */
async function open(
  t: Test,
  { url }: Pick<RedisServer, 'url'>,
  { mostBytes = 100_000_000, patienceMs = 5_000 } = {},
): Promise<RedisCache> {
  const cache = openRedisCache({ redisUrl: url, prefix: 'gateway', mostBytes, patienceMs });
  t.teardown(() => cache.close());
  await waitFor('the server to be asked', () => !cache.isAway);
  return cache;
}

async function put(cache: RedisCache, key: string): Promise<void> {
  cache.put(key, answerOf(key), nowMs);
  await waitFor(`the answer ${key}`, () => cache.get(key, nowMs));
}

const openAsUser = async (t: Test, mostBytes: number): Promise<RedisCache> => {
  const url = asDocumentedUser(await startRedis(t, { users: documentedUsers }));
  return open(t, { url }, { mostBytes });
};

await testAnswerCache({ name: 'redis', open: openAsUser });

await test('a look-up that is late is a miss for its request alone', async (t) => {
  const server = await startRedis(t);
  const detour = await startDetour(t, server);
  const cache = await open(t, detour, { patienceMs: 100 });
  await put(cache, 'a');
  detour.delayMs = () => 200;
  t.equal(await cache.get('a', nowMs), undefined);
  t.equal(cache.isAway, false, 'others still look');
  detour.delayMs = () => 0;
  t.equal((await waitFor('the answer', () => cache.get('a', nowMs)))?.body.toString(), 'a');
});

await test('a server that is late for all is left alone until it answers in time', async (t) => {
  const server = await startRedis(t);
  const detour = await startDetour(t, server);
  const cache = await open(t, detour, { patienceMs: 50 });
  await put(cache, 'a');
  detour.delayMs = () => 100;
  await waitFor('it to be away', async () => (await cache.get('a', nowMs)) === undefined && cache.isAway);
  t.equal(cache.get('a', nowMs), undefined, 'at once, without a promise');
  detour.delayMs = () => 0;
  t.equal((await waitFor('the answer', () => cache.get('a', nowMs)))?.body.toString(), 'a');
  t.equal(cache.isAway, false);
});

await test('a silent server costs a few requests a moment, and then nothing until it is back', async (t) => {
  const server = await startRedis(t);
  await put(await open(t, server), 'a');
  const cache = await open(t, server, { patienceMs: 5 });
  server.freeze();
  for (let asked = 0; asked < 8; asked += 1) {
    t.equal(cache.isAway, false);
    const startedMs = performance.now();
    t.equal(await cache.get('a', nowMs), undefined);
    const tookMs = performance.now() - startedMs;
    t.ok(tookMs < 5 + toleranceMs, `${tookMs} ms`);
  }
  t.equal(cache.isAway, true);
  t.equal(cache.get('a', nowMs), undefined, 'at once, without a promise');
  const { dropped } = cache.status();
  cache.put('b', answerOf('b'), nowMs);
  t.equal(cache.status().dropped, dropped + 1);
  server.thaw();
  t.equal((await waitFor('the answer', () => cache.get('a', nowMs)))?.body.toString(), 'a');
});

await test('a killed server is left alone, and asked when it is there again', async (t) => {
  const server = await startRedis(t);
  const cache = await open(t, server);
  await server.kill();
  await waitFor('it to be away', async () => (await cache.get('a', nowMs)) === undefined && cache.isAway);
  await server.restart();
  await waitFor('the server to be asked again', () => !cache.isAway);
  await put(cache, 'b');
  t.equal(cache.isAway, false);
});

await test('more answers than can wait are dropped and counted', async (t) => {
  const server = await startRedis(t);
  const cache = await open(t, server);
  for (let index = 0; index < 300; index += 1) cache.put(`k${index}`, answerOf('x'), nowMs);
  t.equal(cache.status().dropped, 44);
  const long = await open(t, server);
  for (let index = 0; index < 3; index += 1) long.put(`l${index}`, answerOf(Buffer.alloc(6 * 1024 * 1024)), nowMs);
  t.equal(long.status().dropped, 1);
});

await test('every key in Redis expires, and an answer in the place of another is not used', async (t) => {
  const server = await startRedis(t);
  const cache = await open(t, server);
  await put(cache, 'a');
  const client = server.client();
  const written = await client.keys('*');
  t.equal(written.length, 3);
  for (const key of written) t.ok((await client.pttl(key)) > 50_000, key);
  await client.copy(keys.cached('a'), keys.cached('b'));
  t.equal(await cache.get('b', nowMs), undefined);
  for (const garbage of ['', 'garbage', '{}\n{}', '{"key":"c"}\n{}', 'null\n']) {
    await client.set(keys.cached('c'), garbage);
    t.equal(await cache.get('c', nowMs), undefined, garbage);
  }
  t.equal(cache.isAway, false);
  await client.flushall();
  for (const key of [keys.cachedEnds, keys.cachedSizes]) await client.set(key, 'garbage');
  await put(cache, 'd');
  await waitFor('it to be counted', () => cache.status().entries === 1);
  t.equal(await client.type(keys.cachedEnds), 'zset');
});

await test('answers follow to another address', async (t) => {
  const server = await startRedis(t);
  const detour = await startDetour(t, server);
  const cache = await open(t, detour);
  await put(cache, 'a');
  t.equal(await cache.reconnect(server.url, () => undefined), true);
  detour.silence();
  await waitFor('the answer', () => cache.get('a', nowMs));
});
