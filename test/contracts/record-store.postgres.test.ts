// The contract of the record store on PostgreSQL, and what happens when the server is killed, or does not answer.
import { t as all, test } from 'tap';
import { startPostgres } from '../support/postgres.ts';
import { testMirrorContract } from './mirror-cases.ts';
import { testPaceContract } from './pace-cases.ts';
import { testRecordPages } from './record-page-cases.ts';
import { testRecordSearch } from './record-search-cases.ts';
import { testRecordContract } from './record-store-cases.ts';
import { postgresRecords } from './record-store-engines.ts';
import { record } from './record-store-model.ts';
import { testRevisionContract } from './revision-cases.ts';
import { testUsageContract } from './usage-cases.ts';

const server = await startPostgres(all);
const engine = postgresRecords(server);

await testRecordContract(engine);
await testRecordPages(engine);
await testRecordSearch(engine);
await testPaceContract(engine);
await testUsageContract(engine);
await testMirrorContract(engine);
await testRevisionContract(engine);

const page = { limit: 1, offset: 0 };

await test('PostgreSQL: without a server operations fail with a sentence, and work again when it is back', async (t) => {
  const { store } = await engine.start(t);
  await store.add([record(1)]);
  await server.kill();
  const unavailable = {
    name: 'StoreUnavailable',
    reason: 'unreachable',
    message: /^the record store at \S+ cannot be reached; check DATABASE_URL/,
  };
  await t.rejects(store.add([record(2)]), unavailable);
  await t.rejects(store.entries({}, page), unavailable);
  await server.restart();
  t.equal(await store.add([record(1), record(2)]), 1);
  t.equal((await store.entries({}, page)).total, 2);
});

await test('PostgreSQL: a server that does not answer is given up at the deadline', async (t) => {
  const { store, open } = await engine.start(t);
  await store.add([record(1)]);
  const hasty = open({ timeoutMs: 300 });
  await hasty.entries({}, page);
  const leaving = open({ timeoutMs: 300 });
  await leaving.entries({}, page);
  server.freeze();
  t.teardown(() => server.thaw());
  await t.rejects(hasty.entries({}, page), { name: 'StoreUnavailable', reason: 'timeout' });
  await t.rejects(hasty.add([record(2)]), { name: 'StoreUnavailable', reason: 'timeout' });
  await leaving.close();
  server.thaw();
  t.equal((await hasty.entries({}, page)).total, 1);
});

await test('PostgreSQL: a user who may not is told so, without the password', async (t) => {
  const { options, open, query } = await engine.start(t);
  await query('CREATE ROLE stranger LOGIN');
  const databaseUrl = options.databaseUrl?.replace('gateway@', 'stranger:s3cret@') ?? '';
  const refusal = open({ databaseUrl }).add([record(1)]);
  await t.rejects(refusal, { name: 'StoreUnavailable', reason: 'denied', message: /may create a schema/ });
  await refusal.catch((error: Error) => t.notMatch(error.message, /s3cret/));
});
