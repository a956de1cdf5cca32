// What a write of counters changes in the file: the pages of its rows, once each, and no index.
import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'tap';
import { openStateStore } from '../../../../store/state/open.ts';
import { stateFilePath } from '../../../../store/state/sqlite/file.ts';
import { textsOf } from '../../../support/counter-rows.ts';
import { temporaryDirectory } from '../../../support/teardown.ts';

const count = 1_000;
const pageBytes = 4_096;

await test('rows in any order that are written again change each page once', async (t) => {
  const directory = temporaryDirectory(t, 'gateway-counter-pages');
  const store = openStateStore({ directory, timeoutMs: 30_000 });
  t.teardown(() => store.close());
  const write = async (slice: number): Promise<void> => {
    const rows = Array.from({ length: count }, (_, index) => ({
      // 617 has no divisor in common with the count: neighbours come far apart from each other.
      key: `user_path 60 /team/app-${String((index * 617) % count).padStart(5, '0')}`,
      epoch: 0,
      child: '',
      periodSeconds: 60,
      requests: Array.from({ length: 30 }, (_slice, at) => [slice + at, 1] as const),
      tokens: [],
    }));
    await store.writeCounters('i', { sequence: slice, nowMs: 0, removed: [], rows: textsOf(rows) });
  };
  await write(600);
  const database = new DatabaseSync(stateFilePath(directory));
  t.teardown(() => database.close());
  const pages = Number(
    database.prepare("SELECT sum(pgsize) / ? AS pages FROM dbstat WHERE name = 'counter'").get(pageBytes)?.['pages'],
  );
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  // Slices of a second: the rows are to be kept until the same minute.
  await write(601);
  const written = statSync(`${stateFilePath(directory)}-wal`).size / pageBytes;
  t.ok(written <= pages + 5, `${written.toFixed(0)} pages for ${pages.toFixed(0)} of rows`);
});
