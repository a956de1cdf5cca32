// The contract of the semantic cache in the memory of a process.
import { test } from 'tap';
import { openEmbeddedNeighbours } from '../../store/cache/semantic/embedded.ts';
import { missingExtension, neighbourStores } from '../../store/cache/semantic/open.ts';
import { placed, testNeighbours } from './neighbours-cases.ts';

await testNeighbours({
  name: 'embedded',
  open(t, mostEntries) {
    const cache = openEmbeddedNeighbours({ mostEntries, timeoutMs: 30_000 });
    t.teardown(() => cache.close());
    return Promise.resolve(cache);
  },
});

await test('embedded: once closed it refuses, and drops what is put', async (t) => {
  const cache = openEmbeddedNeighbours({ mostEntries: 10, timeoutMs: 30_000 });
  await cache.ready();
  await cache.close();
  await t.rejects(cache.nearest(placed('a'), 0), { message: 'the semantic cache is closed' });
  cache.put(placed('a'), 0);
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(cache.status().dropped, 1);
});

await test('embedded: what an engine lacks is told before it is opened', async (t) => {
  const none = { databaseUrl: undefined, redisUrl: undefined, redisPrefix: 'gateway', workers: 1 };
  const stores = neighbourStores(none);
  t.equal(stores.missing('embedded'), undefined);
  t.equal(stores.missing('postgres'), 'there is no DATABASE_URL');
  t.equal(stores.missing('redis'), 'there is no REDIS_URL');
  const all = neighbourStores({ ...none, databaseUrl: 'postgresql://db/x', redisUrl: 'redis://host' });
  t.equal(all.missing('postgres'), undefined);
  t.equal(all.missing('redis'), undefined);
  const missing = missingExtension(() => {
    throw new Error('Unsupported platform\nat a place');
  });
  t.match(missing, /^the extension sqlite-vec is not installed for \S+ on \S+ \(Unsupported platform\)$/);
});
