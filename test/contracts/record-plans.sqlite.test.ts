// Every page of the record store is found by indexes: no list, whatever its filter, reads a table of entries from one end to the other.
import { test } from 'tap';
import { RecordFile } from '../../store/records/sqlite/record-file.ts';
import { recordBatches } from '../bench/record-load.ts';
import { indexesOf } from '../bench/record-plans.ts';
import { type Findable, recordQueries } from '../bench/record-queries.ts';
import { sqliteRecords } from './record-store-engines.ts';

const endMs = Date.UTC(2026, 5, 30, 12);
/** Read as a whole: each combination of what filters ask for is there once, and a segment is of thousands of entries. */
const small = ['(all of combo)', '(all of search_segment)'];
const found: Findable = {
  id: 'none',
  requestId: '01234567-89ab-7cde-8f01-23456789abcd',
  sessionId: 'scoped-0123456789ab',
};

await test('SQLite: each page of entries, and of threads, is found by indexes', async (t) => {
  const { store, options } = await sqliteRecords.start(t);
  for (const batch of recordBatches({ entries: 4_500, threads: 900, days: 30, endMs }, 500)) await store.add(batch);
  const database = new RecordFile(options.directory, 10_000);
  t.teardown(() => database.close());
  for (const query of recordQueries(endMs, [found])) {
    const used = await indexesOf(database, query, 'EXPLAIN QUERY PLAN');
    const whole = used.filter((name) => name.startsWith('(all of') && !small.includes(name));
    t.same(whole, [], `${query.operation} ${query.name}: ${used.join(' ')}`);
    if (query.name.startsWith('search')) t.ok(used.includes('key of search_gram'), `${query.name} uses grams`);
  }
});
