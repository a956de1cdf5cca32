// The semantic cache of several proxies: embeddings in PostgreSQL or Redis, answers in Redis.
import { t as suite, type Test, test } from 'tap';
import { vectorOf } from '../support/embedding.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';
import { startVectorPostgres } from '../support/pglite.ts';
import { startRedis, withoutVectorSets } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const postgres = await startVectorPostgres(suite);
const redis = await startRedis(suite);
const skip = (await withoutVectorSets(redis)) ?? false;

/** Two proxies with their embeddings there, and what it takes to ask them. */
async function startPair(t: Test, engine: 'postgres' | 'redis', database: Record<string, string>) {
  const [upstream, embedder] = await Promise.all([
    startFakeUpstream({ t, models: ['m'] }),
    startFakeUpstream({ t, models: ['e'] }),
  ]);
  await embedder.behave((entry) => vectorOf(entry, 2 * directions));
  const provider = { type: 'openai', api_key: `\${TEST_PROVIDER_KEY}` };
  const config = {
    cache: { enabled: true, semantic: { model: 'e', engine, timeout_ms: 10_000 } },
    providers: {
      fake: { ...provider, base_url: upstream.url, models: ['m'] },
      embeddings: { ...provider, base_url: embedder.url, models: ['e'] },
    },
  };
  const env = { ...database, REDIS_URL: redis.url, GATEWAY_REDIS_PREFIX: engine };
  const [one, other] = [await startGateway(t, { config, env }), await startGateway(t, { config, env })];
  const ask = async (gateway: typeof one, content: string) => {
    const body = { model: 'm', messages: [{ role: 'user', content }] };
    const response = await gateway.fetch('/v1/chat/completions', { method: 'POST', body });
    return { cache: response.headers.get('x-gateway-cache'), text: await response.text() };
  };
  let direction = -1;
  const similar = () => ask(other, `${performance.now()} hi @0.95/${direction}`);
  /** Asks one proxy, waits until that one more vector is placed, and asks the other one. */
  const askBoth = async (placed: () => Promise<number>) => {
    direction += 1;
    const before = await placed();
    const first = await ask(one, `hello @1/${direction}`);
    await waitFor('the vector of the first', async () => (await placed()) > before, placedWithinMs).catch(
      () => undefined,
    );
    return { first, second: await similar() };
  };
  return { askBoth, similar, other };
}

/** Redis has 5 ms for what it is asked, which it may miss on a busy machine: then an answer is not kept, and all begins anew with another meaning. */
const directions = 16;
const placedWithinMs = 1_000;

await test('what one proxy was told, a request to another gets by its meaning', async (t) => {
  const database = await postgres.database();
  const { askBoth, similar, other } = await startPair(t, 'postgres', { DATABASE_URL: database });
  // There is no table before the first vector.
  const placed = () => postgres.query(database, 'SELECT 1 FROM gateway_cache.placed').catch(() => []);
  const { first, second } = await waitFor('a hit', async () => {
    const both = await askBoth(async () => (await placed()).length);
    return both.first.cache === 'miss' && both.second.cache === 'hit' && both;
  });
  t.equal(second.text, first.text);
  await postgres.kill();
  const without = await waitFor('Redis', async () => {
    const { cache } = await similar();
    return cache !== 'bypass' && cache;
  });
  t.equal(without, 'miss');
  await postgres.restart();
  await waitFor('a hit again', async () => (await similar()).cache === 'hit', 20_000);
  t.equal(await other.metric('gateway_cache_semantic_total', { outcome: 'timeout' }), 0);
});

await test('the same with embeddings in Redis', { skip }, async (t) => {
  const { askBoth } = await startPair(t, 'redis', {});
  const { first, second } = await waitFor('a hit', async () => {
    const both = await askBoth(async () => (await redis.client().keys('*placed:*')).length);
    return both.first.cache === 'miss' && both.second.cache === 'hit' && both;
  });
  t.equal(second.text, first.text);
});
