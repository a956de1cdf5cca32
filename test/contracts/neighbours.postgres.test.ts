// The contract of the semantic cache on PostgreSQL with pgvector, and what happens where the extension or the server is missing.
import { t as all, type Test, test } from 'tap';
import type { Neighbours } from '../../store/cache/semantic/neighbours.ts';
import { openPostgresNeighbours } from '../../store/cache/semantic/postgres.ts';
import { startVectorPostgres } from '../support/pglite.ts';
import { startPostgres } from '../support/postgres.ts';
import { waitFor } from '../support/wait-for.ts';
import { placed, testNeighbours } from './neighbours-cases.ts';

const server = await startVectorPostgres(all);

function open(t: Test, databaseUrl: string, { mostEntries = 100, timeoutMs = 30_000 } = {}): Neighbours {
  const cache = openPostgresNeighbours({ databaseUrl, mostEntries, timeoutMs });
  t.teardown(() => cache.close());
  return cache;
}

const name = 'postgres';
const engine = async (t: Test, mostEntries: number) => open(t, await server.database(), { mostEntries });
await testNeighbours({ name, open: engine });

await test('postgres: a server without the extension, or a user who may not create it, is told what to do', async (t) => {
  const plain = await startPostgres(t);
  const address = await plain.database();
  await plain.query(address, 'CREATE ROLE stranger LOGIN');
  const cache = open(t, address.replace('gateway@', 'stranger:s3cret@'));
  const refusal = cache.ready();
  await t.rejects(refusal, {
    name: 'StoreUnavailable',
    message:
      /^the semantic cache at \S+ needs the extension pgvector; install it on the server and run CREATE EXTENSION/,
  });
  await refusal.catch((error: Error) => t.notMatch(error.message, /s3cret/));
  cache.put(placed('a'), 0);
  await waitFor('it to be dropped', () => cache.status().dropped === 1);
});

await test('postgres: a user who may nothing but use the table needs no more', async (t) => {
  const address = await server.database();
  await open(t, address).ready();
  await server.query(
    address,
    `CREATE ROLE guest LOGIN; GRANT USAGE ON SCHEMA gateway_cache TO guest;
     GRANT SELECT, INSERT, UPDATE, DELETE ON gateway_cache.placed TO guest`,
  );
  const cache = open(t, address.replace('gateway@', 'guest@'));
  cache.put(placed('a'), 0);
  await waitFor('it', async () => (await cache.nearest(placed(''), 0))?.key === 'a');
  t.equal(cache.status().dropped, 0);
});

await test('postgres: proxies share what was put, and a dropped table is made again', async (t) => {
  const address = await server.database();
  const [one, other] = [open(t, address), open(t, address)];
  one.put(placed('a'), 0);
  await waitFor('it', async () => (await other.nearest(placed(''), 0))?.key === 'a');
  await server.query(address, 'DROP SCHEMA gateway_cache CASCADE');
  await t.rejects(one.nearest(placed(''), 0));
  t.equal(await one.nearest(placed(''), 0), undefined);
});

await test('postgres: a server that hangs or is gone is given up at the deadline, and used again', async (t) => {
  const cache = open(t, await server.database(), { timeoutMs: 500 });
  await cache.ready();
  server.freeze();
  t.teardown(() => server.thaw());
  await t.rejects(cache.nearest(placed(''), 0), { name: 'StoreUnavailable', reason: 'timeout' });
  server.thaw();
  await waitFor('it to answer', () =>
    cache.ready().then(
      () => true,
      () => false,
    ),
  );
  await server.kill();
  await t.rejects(cache.nearest(placed(''), 0), { name: 'StoreUnavailable', reason: 'unreachable' });
  await server.restart();
  await waitFor('it to answer', () =>
    cache.nearest(placed(''), 0).then(
      () => true,
      () => false,
    ),
  );
  t.equal(await cache.nearest(placed(''), 0), undefined);
});
