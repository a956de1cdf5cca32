// The contract of kept items on SQLite, and what only a file can do: be damaged, vanish, be read by others.
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { type Test, test } from 'tap';
import { type KeptKey, keptLimits } from '../../store/state/kept-items.ts';
import { keptFile, keptFilePath } from '../../store/state/sqlite/kept-file.ts';
import { openSqliteStore } from '../../store/state/sqlite/store.ts';
import type { StateStore } from '../../store/state/state-store.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { testKept } from './kept-items-cases.ts';
import { rejection } from './state-store-case-tools.ts';
import { sqlite } from './state-store-engines.ts';

await testKept(sqlite);

const a: KeptKey = { kind: 'response', id: 'a', owner: '/team' };
const bytes = Buffer.from('x');
const clock = { nowMs: 1_000 };

function open(t: Test, directory: string): StateStore {
  const store = openSqliteStore({ directory, nowMs: () => clock.nowMs, timeoutMs: 10_000 });
  t.teardown(() => store.close());
  return store;
}

await test('the file is made with the first use, for its owner alone, and survives a restart', async (t) => {
  const directory = temporaryDirectory(t);
  const store = open(t, directory);
  await store.revision();
  t.notOk(existsSync(keptFilePath(directory)));
  await store.kept.put(a, bytes, 600_000);
  for (const side of ['', '-wal', '-shm']) {
    t.equal(statSync(keptFilePath(directory) + side).mode & 0o777, 0o600, `kept.sqlite${side}`);
  }
  await store.close();
  t.same(await open(t, directory).kept.get(a), bytes);
});

await test('a damaged file is put aside, which is said once, and a new one is begun by all processes', async (t) => {
  const directory = temporaryDirectory(t);
  const path = keptFilePath(directory);
  const [store, other] = [open(t, directory), open(t, directory)];
  await store.kept.put(a, bytes, 600_000);
  t.same(await other.kept.get(a), bytes);
  await Promise.all([store.close(), other.close()]);
  const garbage = 'this is no database, and long enough to be looked at as if it were one '.repeat(100);
  writeFileSync(path, garbage);
  const [late, later] = [open(t, directory), open(t, directory)];
  t.match(await rejection(late.kept.get(a)), {
    reason: 'corrupt',
    message: /kept\.sqlite\.damaged, and a new file is begun/,
  });
  t.equal(statSync(`${path}.damaged`).size, garbage.length);
  t.equal(await late.kept.get(a), undefined);
  await late.kept.put(a, bytes, 600_000);
  t.same(await later.kept.get(a), bytes);
  await late.revision();
});

await test('a file in use that loses its tables is put aside as well', async (t) => {
  const directory = temporaryDirectory(t);
  const path = keptFilePath(directory);
  const store = open(t, directory);
  await store.kept.put(a, Buffer.alloc(100_000), 600_000);
  const database = new DatabaseSync(path, { timeout: 1_000 });
  database.exec('PRAGMA wal_checkpoint(TRUNCATE); DROP TABLE item');
  database.close();
  t.match(await rejection(store.kept.get(a)), { reason: 'corrupt' });
  t.same(await store.kept.get(a), undefined);
  await store.kept.put(a, bytes, 600_000);
  t.same(await store.kept.get(a), bytes);
});

await test('a file that vanished is made anew, and one of a newer version is left alone', async (t) => {
  const directory = temporaryDirectory(t);
  const path = keptFilePath(directory);
  const store = open(t, directory);
  await store.kept.put(a, bytes, 600_000);
  for (const side of ['', '-wal', '-shm']) rmSync(path + side, { force: true });
  t.equal(await store.kept.get(a), undefined);
  await store.kept.put(a, bytes, 600_000);
  t.same(await store.kept.get(a), bytes);
  const database = new DatabaseSync(path, { timeout: 1_000 });
  database.exec('PRAGMA user_version = 99');
  t.match(await rejection(store.kept.get(a)), { reason: 'newer_schema' });
  database.exec('PRAGMA user_version = 1');
  database.close();
  t.same(await store.kept.get(a), bytes);
  t.same(
    readdirSync(directory).filter((name) => name.includes('damaged')),
    [],
  );
});

await test('expired items leave the file with later puts, and their room is used again', async (t) => {
  const directory = temporaryDirectory(t);
  const store = open(t, directory);
  const large = Buffer.alloc(1_000_000);
  for (let round = 0; round < 6; round += 1) {
    clock.nowMs += 100_000;
    await store.kept.put({ ...a, id: `${round}` }, large, clock.nowMs + 50_000);
  }
  await store.close();
  t.ok(statSync(keptFilePath(directory)).size < 2.5 * large.length);
  const database = new DatabaseSync(keptFilePath(directory));
  t.same(
    database.prepare('SELECT count(*) AS items, sum(item.size) - total_size.size AS more FROM item, total_size').get(),
    {
      items: 1,
      more: 0,
    },
  );
  database.close();
});

await test('expired items are removed in portions, one portion at a time', async (t) => {
  const file = keptFile(temporaryDirectory(t), 1_000);
  t.teardown(() => file.close());
  const nowMs = 1_000;
  const put = (id: string, expiresAtMs: number): void =>
    file.use((tables) => tables.put({ key: { ...a, id }, expiresAtMs, limits: keptLimits, nowMs }, bytes));
  for (let item = 0; item < 100; item += 1) put(`${item}`, 2_000);
  put('later', 3_000);
  const sweep = (now: number): boolean => file.use((tables) => tables.sweep({ nowMs: now }));
  t.same([sweep(1_999), sweep(2_000), sweep(2_000), sweep(2_000)], [false, true, false, false]);
  t.same(file.use((tables) => tables.get({ key: { ...a, id: 'later' }, nowMs: 2_000 })).bytes, new Uint8Array(bytes));
});
