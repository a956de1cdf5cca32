// The embedded store when its file is the problem: gone, replaced, damaged, not writable, newer, or made by many at once.
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { type Test, test } from 'tap';
import { explainFailure } from '../../../../store/state/sqlite/failure.ts';
import { stateFilePath } from '../../../../store/state/sqlite/file.ts';
import { openSqliteStore } from '../../../../store/state/sqlite/store.ts';
import { SqliteThread } from '../../../../store/state/sqlite/thread.ts';
import type { StateStore } from '../../../../store/state/state-store.ts';
import { extent } from '../../../support/extent.ts';
import { startProcess } from '../../../support/process.ts';
import { watchTime } from '../../../support/slowdown.ts';
import { change, commitAnyhow, ids, refusal } from '../../../support/store-calls.ts';
import { temporaryDirectory } from '../../../support/teardown.ts';
import { waitFor } from '../../../support/wait-for.ts';

function open(t: Test, directory: string): StateStore {
  const store = openSqliteStore({ directory, timeoutMs: 10_000, pollMs: 20 });
  t.teardown(() => store.close());
  return store;
}

/** The store's files, moved to another name and back. */
function move(from: string, to: string): void {
  for (const side of ['', '-wal', '-shm']) if (existsSync(from + side)) renameSync(from + side, to + side);
}

await test('a file that vanished is not made anew, and works again when it is back', async (t) => {
  const directory = temporaryDirectory(t);
  const path = stateFilePath(directory);
  const store = open(t, directory);
  await change(store, 'a');
  let calls = 0;
  store.watch(() => {
    calls += 1;
  });
  await waitFor('the watch', () => calls > 0);
  move(path, `${path}.away`);
  for (const asked of [store.read(), store.revision(), change(store, 'b'), store.heartbeats()]) {
    t.match(await refusal(asked), { reason: 'unreachable', message: /state\.sqlite is gone; put it back/ });
  }
  t.notOk(existsSync(path));
  const before = calls;
  move(`${path}.away`, path);
  await waitFor('the watch to tell that it is back', () => calls > before);
  t.same(await ids(store), ['a']);
  await change(store, 'b');
  t.same(await ids(store), ['a', 'b']);
});

await test('a copy that is being written in its place is not taken for an emptied store', async (t) => {
  const directory = temporaryDirectory(t);
  const path = stateFilePath(directory);
  const store = open(t, directory);
  await change(store, 'a');
  await store.close();
  const copy = readFileSync(path);
  writeFileSync(path, 'this is no database, and long enough to be looked at as if it were one');
  const late = open(t, directory);
  t.match(await refusal(late.read()), { reason: 'corrupt' });
  const descriptor = openSync(path, 'w');
  const asked = late.read();
  // Time for the other thread to look at the empty file.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  writeSync(descriptor, copy);
  closeSync(descriptor);
  t.same(
    (await asked).documents.map(({ id }) => id),
    ['a'],
  );
  t.same(await ids(late), ['a']);
});

await test('a vanished file is written back', async (t) => {
  const directory = temporaryDirectory(t);
  const store = open(t, directory);
  const other = open(t, directory);
  await change(store, 'a');
  const before = await store.read();
  t.same(await ids(other), ['a']);
  rmSync(directory, { recursive: true });
  await refusal(other.read());
  t.ok(await store.rewrite(before, { storeId: undefined, revision: 0 }));
  t.same(await other.read(), before);
});

await test('another file in its place is another store', async (t) => {
  const directory = temporaryDirectory(t);
  const store = open(t, directory);
  await change(store, 'a');
  const { storeId } = await store.revision();
  move(stateFilePath(directory), join(directory, 'old'));
  await change(open(t, directory), 'b');
  const state = await store.read();
  t.same(
    state.documents.map(({ id }) => id),
    ['b'],
  );
  t.not(state.storeId, storeId);
  await change(store, 'c');
  t.same(await ids(open(t, directory)), ['b', 'c']);
});

await test('a watch tells of another file even when it stands at the same revision', async (t) => {
  const directory = temporaryDirectory(t);
  const path = stateFilePath(directory);
  const store = open(t, directory);
  await change(store, 'a');
  let calls = 0;
  store.watch(() => {
    calls += 1;
  });
  await waitFor('the watch', () => calls > 0);
  const database = new DatabaseSync(path, { timeout: 1_000 });
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  copyFileSync(path, `${path}.copy`);
  const before = calls;
  renameSync(`${path}.copy`, path);
  await waitFor('the watch to tell', () => calls > before);
});

await test('a file emptied in its place reads as emptied, not as new', async (t) => {
  const directory = temporaryDirectory(t);
  const store = open(t, directory);
  await change(store, 'a');
  const before = await store.read();
  const path = stateFilePath(directory);
  for (const side of ['', '-wal', '-shm']) rmSync(path + side, { force: true });
  writeFileSync(path, '');
  t.match(await store.read(), { storeId: undefined, revision: 0, documents: [] });
  t.ok(await store.rewrite(before, await store.revision()));
  t.same(await ids(store), ['a']);
});

await test('garbage in place of the file is said, and forgotten when it is mended', async (t) => {
  const directory = temporaryDirectory(t);
  const path = stateFilePath(directory);
  writeFileSync(path, 'this is no database, but it is long enough to be looked at.'.repeat(100));
  const store = open(t, directory);
  for (const asked of [store.read(), change(store, 'a'), store.initialise()]) {
    const error = await refusal(asked);
    t.match(error, { reason: 'corrupt', message: /is damaged or not ours; stop the gateway/, cause: /not a database/ });
  }
  t.match(readFileSync(path, 'utf8'), /^this is no database/, 'it is left as it is');
  rmSync(path);
  await change(store, 'a');
  t.same(await ids(store), ['a']);
});

await test('a database of another program is left alone', async (t) => {
  const directory = temporaryDirectory(t);
  const database = new DatabaseSync(stateFilePath(directory));
  database.exec('CREATE TABLE document (theirs TEXT)');
  database.close();
  t.match(await refusal(open(t, directory).read()), { reason: 'corrupt' });
});

await test('damage while it is open is said, and forgotten when it is mended', async (t) => {
  const directory = temporaryDirectory(t);
  const path = stateFilePath(directory);
  const store = open(t, directory);
  const large = { kind: 'rule', body: 'x'.repeat(10_000) };
  // More than SQLite keeps in memory.
  const changes = Array.from({ length: 500 }, (_, index) => ({ ...large, id: String(index) }));
  await commitAnyhow(store, { expected: new Map(), changes });
  const database = new DatabaseSync(path, { timeout: 1_000 });
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  const good = readFileSync(path);
  const head = good.subarray(0, 100);
  writeFileSync(path, Buffer.concat([head, Buffer.alloc(good.length - head.length, 0xff)]), { flag: 'r+' });
  t.match(await refusal(store.read()), { reason: 'corrupt' });
  const tookMs = watchTime();
  t.match(await refusal(open(t, directory).read()), { reason: 'corrupt' });
  t.ok(tookMs() < 5_000, 'an error that is not a lock is not waited for');
  writeFileSync(path, good, { flag: 'r+' });
  t.equal((await ids(store)).length, 500, 'mended in its place');
  writeFileSync(path, Buffer.alloc(good.length, 0xff), { flag: 'r+' });
  t.match(await refusal(open(t, directory).read()), { reason: 'corrupt' });
  writeFileSync(`${path}.new`, good);
  renameSync(`${path}.new`, path);
  t.equal((await ids(store)).length, 500, 'mended by another file');
});

await test('a directory that is none can be mended', async (t) => {
  const directory = join(temporaryDirectory(t), 'data');
  writeFileSync(directory, '');
  const store = open(t, directory);
  t.match(await refusal(store.read()), { reason: 'unreachable', message: /check that its directory exists/ });
  rmSync(directory);
  await change(store, 'a');
  t.same(await ids(store), ['a']);
});

await test('a directory that cannot be written is said, and forgotten when it can', async (t) => {
  const directory = temporaryDirectory(t);
  const path = stateFilePath(directory);
  const store = open(t, directory);
  await change(store, 'a');
  const database = new DatabaseSync(path, { timeout: 1_000 });
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  copyFileSync(path, `${path}.copy`);
  for (const side of ['', '-wal', '-shm']) rmSync(path + side);
  renameSync(`${path}.copy`, path);
  chmodSync(path, 0o444);
  chmodSync(directory, 0o555);
  // The superuser may write everywhere: for a while this process runs as another user.
  const isSuperuser = process.geteuid?.() === 0;
  if (isSuperuser) process.seteuid?.(65_534);
  const error = await refusal(store.read()).finally(() => {
    if (isSuperuser) process.seteuid?.(0);
  });
  t.match(error, { reason: 'read_only', message: /let the user of the gateway write/ });
  chmodSync(directory, 0o755);
  chmodSync(path, 0o644);
  t.same(await ids(store), ['a']);
});

await test('tables of a newer version are left alone', async (t) => {
  const directory = temporaryDirectory(t);
  const store = open(t, directory);
  await change(store, 'a');
  const database = new DatabaseSync(stateFilePath(directory), { timeout: 1_000 });
  database.exec('PRAGMA user_version = 2');
  for (const each of [store, open(t, directory)]) {
    for (const asked of [each.read(), change(each, 'b')]) {
      t.match(await refusal(asked), { reason: 'newer_schema', message: /written by a newer version of the gateway/ });
    }
  }
  database.exec('PRAGMA user_version = 1');
  database.close();
  t.same(await ids(store), ['a']);
});

await test('processes that start at once agree on one store', async (t) => {
  for (let round = 0; round < extent(3, 1); round += 1) {
    const options = { directory: join(temporaryDirectory(t), 'new', 'deeper') };
    const args = [JSON.stringify({ options, work: 'visit' })];
    const visitors = await Promise.all(
      Array.from({ length: 6 }, () =>
        startProcess({ t, entry: 'test/contracts/state-store-writer.ts', args, ready: 'spawned' }),
      ),
    );
    const exits = await Promise.all(visitors.map(({ exited }) => exited));
    t.same([...new Set(exits.map(({ code }) => code))], [0], visitors.map((visitor) => visitor.lastLines()).join('\n'));
    const found = visitors.flatMap((visitor) => visitor.logs().map(({ storeId }) => storeId)).filter(Boolean);
    t.equal(found.length, 6);
    t.equal(new Set(found).size, 1);
  }
});

await test('its files are for their owner alone', async (t) => {
  const directory = temporaryDirectory(t);
  await change(open(t, directory), 'a');
  for (const side of ['', '-wal', '-shm']) {
    t.equal(statSync(stateFilePath(directory) + side).mode & 0o777, 0o600, `state.sqlite${side}`);
  }
});

await test('a process that was stopped reads the answers that came meanwhile', async (t) => {
  const directory = temporaryDirectory(t);
  await change(open(t, directory), 'a');
  const thread = new SqliteThread({ directory, timeoutMs: 100, pollMs: 20 });
  t.teardown(() => thread.close());
  await thread.ask('revision', null);
  const asked = thread.ask('revision', null);
  // Timers are the first to be looked at afterwards.
  await setImmediate();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150);
  t.match(await asked, /"revision":1/);
});

await test('a thread that dies is replaced', async (t) => {
  const directory = temporaryDirectory(t);
  const store = open(t, directory);
  const large = { kind: 'rule', id: 'large', body: Array.from({ length: 100_000 }, (_, index) => ({ [index]: [] })) };
  await commitAnyhow(store, { expected: new Map(), changes: [large] });
  const thread = new SqliteThread({ directory, timeoutMs: 25_000, pollMs: 20, memoryMb: 16 });
  t.teardown(() => thread.close());
  let calls = 0;
  thread.watch(() => {
    calls += 1;
  });
  await waitFor('the watch', () => calls > 0);
  const before = calls;
  const read = refusal(thread.ask('readPage', { after: null, limit: 1 }));
  const later = thread.ask('revision', null);
  t.match(await read, { reason: 'unreachable', message: /thread of the state store died: .*memory/ });
  t.match(JSON.parse(await later), { revision: 1 }, 'what waited is done by the next one');
  await waitFor('the watch of the next one', () => calls > before);
});

await test('every failure of SQLite has a reason', async (t) => {
  const database = new DatabaseSync(':memory:');
  t.teardown(() => database.close());
  database.exec('PRAGMA max_page_count = 2; CREATE TABLE a (b)');
  const thrown = (sql: string): unknown => {
    try {
      database.exec(sql);
      return undefined;
    } catch (error) {
      return error;
    }
  };
  t.match(explainFailure('/x', thrown('INSERT INTO a VALUES (zeroblob(100000))')), {
    name: 'StoreUnavailable',
    reason: 'full',
    message: /state store \/x cannot grow; free some space/,
  });
  t.match(explainFailure('/x', thrown('SELECT * FROM missing')), { reason: 'corrupt', cause: Error });
  database.exec('PRAGMA query_only = 1');
  t.match(explainFailure('/x', thrown('DELETE FROM a')), { reason: 'read_only' });
  const bug = new TypeError('a mistake in this program');
  t.equal(explainFailure('/x', bug), bug, 'a mistake is not dressed up as an outage');
  t.match(explainFailure('/x', 'text'), { message: 'text' });
});
