// The contract of shared limits in a file, and what only a file can do: be opened by several processes at once, be replaced, be damaged.
import { existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Test, test } from 'tap';
import { counterKey } from '../../domain/limits/exchange.ts';
import { limitFilePath } from '../../store/state/sqlite/limit-file.ts';
import { openSqliteStore } from '../../store/state/sqlite/store.ts';
import type { StateStore } from '../../store/state/state-store.ts';
import { attachMessage, exchangeMessage, limitItem } from '../support/limit-messages.ts';
import { type RunningProcess, startProcess } from '../support/process.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { testLimits } from './limits-cases.ts';
import { Heard, sqliteLimitEngine } from './limits-engines.ts';
import { rejection } from './state-store-case-tools.ts';

await testLimits(sqliteLimitEngine);

const name = counterKey({ key: 'team', epoch: 0, periodSeconds: 60 }, 'requests', '');

function open(t: Test, directory: string, limitClockMs?: () => number): StateStore {
  const store = openSqliteStore({ directory, limitClockMs });
  t.teardown(() => store.close());
  return store;
}

/** Processes that share a cap until nothing is left of it. */
function startWriters(t: Test, directory: string, cap: number): Promise<RunningProcess[]> {
  const entry = 'test/contracts/limits-writer.ts';
  return Promise.all(
    ['a', 'b', 'c'].map((instance) => {
      const args = [JSON.stringify({ options: { directory }, instance, key: name, cap })];
      return startProcess({ t, entry, args, ready: 'spawned' });
    }),
  );
}

async function look(t: Test, directory: string): Promise<{ readonly used: number; readonly held: number }> {
  const [view] = await open(t, directory).limits.look([name]);
  if (view === undefined) throw new Error('there is no view');
  return view;
}

await test('processes that open one file at once share the cap to the last unit', async (t) => {
  const directory = join(temporaryDirectory(t), 'new', 'deeper');
  const writers = await startWriters(t, directory, 300);
  for (const { exited } of writers) t.equal((await exited).code, 0);
  const given = writers.map((writer) => Number(writer.logs().find(({ msg }) => msg === 'done')?.['given']));
  t.equal(
    given.reduce((sum, each) => sum + each, 0),
    300,
    given.join(', '),
  );
  t.match(await look(t, directory), { used: 300, held: 0 });
});

await test('a process that is killed keeps the others from nothing, and what it held is not free', async (t) => {
  const directory = temporaryDirectory(t);
  const [first, ...others] = await startWriters(t, directory, 800);
  await first?.waitForLine('ready');
  await first?.kill();
  for (const { exited } of others) t.equal((await exited).code, 0);
  const { used, held } = await look(t, directory);
  t.equal(used + held, 800);
  t.ok(held <= 1, `${held} held`);
});

await test('nothing is made before the first use, and a look makes nothing', async (t) => {
  const directory = temporaryDirectory(t);
  const { limits } = open(t, directory);
  await limits.look([name]);
  t.notOk(existsSync(limitFilePath(directory)));
  const line = await new Heard(limits).line();
  await line.attach(attachMessage('a', { server: line.server }));
  for (const side of ['', '-wal', '-shm']) {
    t.equal(statSync(limitFilePath(directory) + side).mode & 0o777, 0o600, `limits.sqlite${side}`);
  }
});

/** A session with held units, and a copy of the file as it was before the last exchange. */
async function startWithCopy(t: Test, directory: string) {
  const path = limitFilePath(directory);
  const { limits } = open(t, directory);
  const heard = new Heard(limits);
  const line = await heard.line();
  const attached = await line.attach(attachMessage('a', { server: line.server }));
  await line.exchange(exchangeMessage(attached.session, { items: [limitItem(name, { held: 5 })] }));
  const copy = new DatabaseSync(path);
  copy.exec(`VACUUM INTO '${path}.copy'`);
  copy.close();
  await line.exchange(exchangeMessage(attached.session, { sequence: 2, items: [limitItem(name, { held: 9 })] }));
  return { limits, heard, line, attached, path };
}

await test('an older file in the place of the one in use ends the line once, and is waited for', async (t) => {
  const directory = temporaryDirectory(t);
  const { heard, line, attached, path } = await startWithCopy(t, directory);
  const { session, generation } = attached;
  for (const side of ['-wal', '-shm']) rmSync(path + side, { force: true });
  renameSync(`${path}.copy`, path);
  const late = exchangeMessage(session, { sequence: 3, items: [limitItem(name, { held: 9 })] });
  const refused = await rejection(line.exchange(late));
  t.match(refused, { name: 'StoreUnavailable', message: /another file has taken its place/ });
  t.equal(heard.lost.length, 1);
  const next = await heard.line(2);
  t.not(next.server, line.server);
  const knows = { session, generation, live: 1, connection: 2, server: next.server };
  t.match(await next.attach(attachMessage('a', knows)), { former: 'known', sequence: 1, recovering: true });
  const told = await next.exchange({ ...late, connection: 2, told: true });
  t.match(told, { status: 'done', recovering: false, answers: [{ free: 91 }] });
});

await test('a damaged file is put aside, and a new one is begun', async (t) => {
  const directory = temporaryDirectory(t);
  const path = limitFilePath(directory);
  const garbage = 'this is no database, and long enough to be looked at as if it were one '.repeat(100);
  writeFileSync(path, garbage);
  const heard = new Heard(open(t, directory).limits);
  const line = await heard.line();
  t.match(heard.lost, [{ reason: 'corrupt', message: /limits\.sqlite\.damaged, and a new file is begun/ }]);
  t.equal(statSync(`${path}.damaged`).size, garbage.length);
  const { session } = await line.attach(attachMessage('a', { server: line.server }));
  const database = new DatabaseSync(path, { timeout: 1_000 });
  database.exec("UPDATE meta SET body = 'garbage'");
  database.close();
  t.match(await rejection(line.exchange(exchangeMessage(session))), { name: 'StoreUnavailable', reason: 'corrupt' });
  const next = await heard.line(2);
  t.match(await next.attach(attachMessage('a', { server: next.server, fresh: 'new' })), { generation: 'new' });
});

await test('a file of a newer version is left alone', async (t) => {
  const directory = temporaryDirectory(t);
  const { heard, line, attached, path } = await startWithCopy(t, directory);
  const database = new DatabaseSync(path, { timeout: 1_000 });
  t.teardown(() => database.close());
  const refused = async (sequence: number, number: number): Promise<unknown> =>
    rejection((await heard.line(number)).exchange(exchangeMessage(attached.session, { sequence })));
  const newer = { name: 'StoreUnavailable', reason: 'newer_schema', message: /written by a newer version/ };
  database.exec("UPDATE meta SET body = json_set(body, '$.version', 99)");
  t.match(await refused(3, 1), newer, 'newer messages');
  await heard.line(2);
  database.exec("UPDATE meta SET body = json_set(body, '$.version', 1); PRAGMA user_version = 99");
  t.match(await refused(3, 2), newer, 'newer tables');
  t.equal(heard.lines.length, 2, 'it cannot even be opened');
  t.notOk(existsSync(`${path}.damaged`));
  database.exec('PRAGMA user_version = 1');
  const next = await heard.line(3);
  t.match(await next.exchange(exchangeMessage(attached.session, { sequence: 3 })), { status: 'done' });
  t.equal(line.server, next.server);
});

await test('counters leave the file behind their end, in portions', async (t) => {
  const directory = temporaryDirectory(t);
  const clock = { nowMs: 1_700_000_000_000 };
  const line = await new Heard(open(t, directory, () => clock.nowMs).limits).line();
  const { session } = await line.attach(attachMessage('a', { server: line.server }));
  const slice = clock.nowMs / 1_000;
  let sequence = 0;
  const say = (keys: readonly string[], beat = false): Promise<unknown> => {
    sequence += 1;
    const items = keys.map((key) => limitItem(key, { uses: [[slice, 1]] }));
    return line.exchange(exchangeMessage(session, { sequence, items, beat }));
  };
  await say(Array.from({ length: 500 }, (_, index) => `60:${index}`));
  clock.nowMs += 80_000;
  await say(['60:later']);
  clock.nowMs += 1_000;
  const database = new DatabaseSync(limitFilePath(directory));
  t.teardown(() => database.close());
  const left = (): unknown => database.prepare('SELECT count(*) AS counters FROM counter').get()?.['counters'];
  const counts: unknown[] = [];
  for (let beat = 0; beat < 3; beat += 1) {
    counts.push(left());
    await say([], true);
  }
  t.same([...counts, left()], [501, 245, 1, 1]);
});
