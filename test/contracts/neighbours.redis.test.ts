// The contract of the semantic cache on the vector sets of Redis 8, and what happens where the server is older or does not answer.
import { t as all, type Test, test } from 'tap';
import { openRedisNeighbours, type RedisNeighbours } from '../../store/cache/semantic/redis.ts';
import { startRedis, withoutVectorSets } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { placed, testNeighbours } from './neighbours-cases.ts';

const server = await startRedis(all);
const client = server.client();
const missing = await withoutVectorSets(server);
const hasVectors = missing === undefined;
const skip = missing ?? false;
let spaces = 0;

function open(
  t: Test,
  { redisUrl = server.url, mostEntries = 100, timeoutMs = 30_000, prefix = '' } = {},
): RedisNeighbours {
  spaces += 1;
  const cache = openRedisNeighbours({ redisUrl, mostEntries, timeoutMs, prefix: prefix || `space${spaces}` });
  t.teardown(() => cache.close());
  return cache;
}

const nearest = async (cache: RedisNeighbours) => (await cache.nearest(placed(''), 0))?.key;

if (hasVectors) await testNeighbours({ name: 'redis', open: async (t, mostEntries) => open(t, { mostEntries }) });

await test('redis: a server without vector sets is told what to do', { skip: hasVectors }, async (t) => {
  const cache = open(t);
  const told = /^the semantic cache on 127\.0\.0\.1:\d+ needs Redis 8 or newer: its vector sets$/;
  await t.rejects(cache.ready(), { name: 'StoreUnavailable', message: told });
  await t.rejects(cache.nearest(placed(''), 0), { message: told });
  cache.put(placed('a'), 0);
  await waitFor('it to be dropped', () => cache.status().dropped === 1);
});

await test('redis: proxies share what was put, and all of it ends by itself', { skip }, async (t) => {
  const [one, other] = [open(t, { prefix: 'shared' }), open(t, { prefix: 'shared' })];
  one.put(placed('a', { expiresAtMs: 60_000 }), 0);
  one.put(placed('b', { expiresAtMs: 10_000, vector: Float32Array.of(0, 1) }), 0);
  t.equal(await waitFor('it', () => nearest(other)), 'a');
  for (const key of ['{shared}:placed:p', '{shared}:placed-ends']) {
    const left = await waitFor('its end', async () => Math.max(0, await client.pttl(key)));
    t.ok(left > 50_000 && left <= 60_000, `${key} ends in ${left} ms`);
  }
  await waitFor('both', async () => (await client.call('VCARD', '{shared}:placed:p')) === 2);
});

await test('redis: what is not ours in a place of ours goes', { skip }, async (t) => {
  const cache = open(t, { prefix: 'foreign' });
  await client.set('{foreign}:placed:p', 'x');
  await client.set('{foreign}:placed-ends', 'x');
  cache.put(placed('a'), 0);
  t.equal(await waitFor('it', () => nearest(cache).catch(() => undefined)), 'a');
});

await test('redis: a server that hangs or is gone is given up at the deadline, and used again', { skip }, async (t) => {
  const own = await startRedis(t);
  const cache = open(t, { redisUrl: own.url, timeoutMs: 300 });
  await cache.ready();
  own.freeze();
  t.teardown(() => own.thaw());
  await t.rejects(nearest(cache), { name: 'StoreUnavailable', reason: 'timeout' });
  own.thaw();
  const answers = () =>
    cache.ready().then(
      () => true,
      () => false,
    );
  await waitFor('it to answer', answers);
  await own.kill();
  await t.rejects(nearest(cache), { name: 'StoreUnavailable', reason: 'unreachable' });
  await own.restart();
  await waitFor('it to answer', answers);
  t.equal(await nearest(cache), undefined);
});

await test('redis: the connection moves to a renewed address', { skip }, async (t) => {
  const next = await startRedis(t);
  const cache = open(t);
  await cache.ready();
  t.equal(await cache.reconnect(next.url, (trouble) => t.fail(trouble.message)), true);
  cache.put(placed('a'), 0);
  t.equal(await waitFor('it', () => nearest(cache)), 'a');
  t.match(await next.client().keys('*'), [/placed/, /placed/]);
});
