// Every page of the record store is found by indexes: no list, whatever its filter, reads a table of entries from one end to the other.
import { t as all, type Test, test } from 'tap';
import { openPostgres } from '../../store/records/postgres/pool.ts';
import type { Database } from '../../store/records/sql/database.ts';
import { RecordFile } from '../../store/records/sqlite/record-file.ts';
import { recordBatches } from '../bench/record-load.ts';
import { indexesOf } from '../bench/record-plans.ts';
import { type Findable, recordQueries } from '../bench/record-queries.ts';
import { isFull } from '../support/extent.ts';
import { startPostgres } from '../support/postgres.ts';
import { postgresRecords, type RecordPlace, sqliteRecords } from './record-store-engines.ts';

const endMs = Date.UTC(2026, 5, 30, 12);
/** Read as a whole: each combination of what filters ask for is there once, and a segment is of thousands of entries. */
const small = ['(all of combo)', '(all of search_segment)'];
const found: Findable = {
  id: 'none',
  requestId: '01234567-89ab-7cde-8f01-23456789abcd',
  sessionId: 'scoped-0123456789ab',
};

/** `gramKey`: what the index of search grams is called in a plan. */
async function testPlans(
  t: Test,
  { store }: RecordPlace,
  database: Database,
  { explain, gramKey }: { readonly explain: string; readonly gramKey: string },
): Promise<void> {
  for (const batch of recordBatches({ entries: 4_500, threads: 900, days: 30, endMs }, 500)) await store.add(batch);
  for (const query of recordQueries(endMs, [found])) {
    const used = await indexesOf(database, query, explain);
    const whole = used.filter((name) => name.startsWith('(all of') && !small.includes(name));
    t.same(whole, [], `${query.operation} ${query.name}: ${used.join(' ')}`);
    if (query.name.startsWith('search')) t.ok(used.includes(gramKey), `${query.name} uses grams`);
  }
}

await test('SQLite: each page of entries, and of threads, is found by indexes', async (t) => {
  const place = await sqliteRecords.start(t);
  const database = new RecordFile(place.options.directory, 10_000);
  t.teardown(() => database.close());
  await testPlans(t, place, database, { explain: 'EXPLAIN QUERY PLAN', gramKey: 'key of search_gram' });
});

await test('PostgreSQL: each page of entries, and of threads, is found by indexes', { skip: !isFull }, async (t) => {
  const server = await startPostgres(all);
  const place = await postgresRecords(server).start(t);
  const { databaseUrl = '' } = place.options;
  // Of a table as small as those of a test PostgreSQL reads all, although it has an index.
  await server.query(
    databaseUrl,
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET enable_seqscan = off', current_database()); END $$",
  );
  const database = openPostgres({ databaseUrl, timeoutMs: 10_000 });
  t.teardown(() => database.close());
  await testPlans(t, place, database, { explain: 'EXPLAIN', gramKey: 'search_gram_pkey' });
});
