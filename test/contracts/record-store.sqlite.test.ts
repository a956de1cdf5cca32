// The contract of the record store on SQLite, and what becomes of its file when its process is killed.
import { test } from 'tap';
import { startProcess } from '../support/process.ts';
import { waitFor } from '../support/wait-for.ts';
import { testMirrorContract } from './mirror-cases.ts';
import { testPaceContract } from './pace-cases.ts';
import { testRecordPages } from './record-page-cases.ts';
import { testRecordSearch } from './record-search-cases.ts';
import { testRecordContract } from './record-store-cases.ts';
import { sqliteRecords } from './record-store-engines.ts';
import { testRevisionContract } from './revision-cases.ts';
import { testUsageContract } from './usage-cases.ts';

await testRecordContract(sqliteRecords);
await testRecordPages(sqliteRecords);
await testRecordSearch(sqliteRecords);
await testPaceContract(sqliteRecords);
await testUsageContract(sqliteRecords);
await testMirrorContract(sqliteRecords);
await testRevisionContract(sqliteRecords);

await test('SQLite: a process that is killed as it writes leaves all that it acknowledged, and nothing half', async (t) => {
  const { options, store, query } = await sqliteRecords.start(t);
  const writer = await startProcess({
    t,
    entry: 'test/contracts/record-store-writer.ts',
    args: [JSON.stringify(options)],
    ready: { line: '"acked"' },
  });
  const acked = (): number => Number(writer.logs().at(-1)?.['acked'] ?? 0);
  await waitFor('some batches to be kept', () => acked() >= 200);
  await writer.kill();
  const { total } = await store.entries({}, { limit: 1, offset: 0 });
  t.ok(total >= acked() && total % 10 === 0, `${total} kept, ${acked()} acknowledged`);
  t.match(await store.sessions({}, { limit: 20, offset: 0 }), { total: 10, sessions: [{ request_count: total / 10 }] });
  t.match(await query('PRAGMA integrity_check'), [{ integrity_check: 'ok' }]);
});
