// The file of the state store is locked, gone, damaged or too new: models are served, acknowledged writes stay, and a repair is noticed.
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { t as suite, type Test, test } from 'tap';
import { statusesOf, usageOf } from '../support/consumer.ts';
import { extent } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { checkUnharmed, roomyConfig, underLoad } from '../support/load.ts';
import { askAdmin, dayRule, delaysUntil, manualCaps, untilDegraded } from '../support/operator.ts';
import { watchSlowdown } from '../support/slowdown.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);
const upstream = await startFakeUpstream({ t: suite });
const fleet = await startFleet(suite, {
  store: 'sqlite',
  upstream,
  proxies: extent(2, 1),
  config: roomyConfig(),
});
const [first] = fleet.proxies as readonly [Gateway];
const file = join(fleet.home, 'data/state.sqlite');
const aside = join(fleet.home, 'aside.sqlite');
/** The file and what SQLite keeps beside it. */
const parts = ['', '-wal', '-shm'];

const put = (path: string, cap: number) => askAdmin(first, 'PUT', dayRule(path, cap));

/** Changes the file from another connection. */
function sql(...statements: string[]): void {
  const database = new DatabaseSync(file, { timeout: 2_000 });
  try {
    for (const statement of statements) database.exec(statement);
  } finally {
    database.close();
  }
}

/** How many documents lie in the file, as another connection sees it. */
function documentsInFile(): number {
  const database = new DatabaseSync(file, { timeout: 2_000 });
  try {
    return Number(
      database.prepare("SELECT count(*) AS found FROM document WHERE kind = 'rate_limit'").get()?.['found'],
    );
  } finally {
    database.close();
  }
}

/** Damages the file while no process writes and no log file holds a part of it. */
async function spoil(damage: () => void, isNoticed = false): Promise<void> {
  const database = new DatabaseSync(file, { timeout: 2_000 });
  if (isNoticed) database.exec('CREATE TABLE IF NOT EXISTS own_change (a)');
  await waitFor('a moment at which nothing lies beside the file', () => {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.exec('BEGIN IMMEDIATE');
    const isWhole = statSync(`${file}-wal`).size === 0;
    // Behind a change of another one, what a process has read before it reads again.
    if (isWhole && isNoticed) database.exec('INSERT INTO own_change VALUES (1)');
    if (isWhole) damage();
    database.exec(isWhole && isNoticed ? 'COMMIT' : 'ROLLBACK');
    return isWhole;
  });
  database.close();
}

/** What holds while the file cannot be used; the admin API refuses, within its deadline. */
async function checkRefused(t: Test): Promise<void> {
  const slowdown = watchSlowdown(fleet.controlPlane, first.process);
  const { status, code, retryAfter, tookMs } = await put('/refused', 1);
  t.match([status, code, retryAfter], [503, /^store_/, '1']);
  t.ok(tookMs < 2_000 * slowdown(), `refused after ${tookMs.toFixed(0)} ms`);
  t.same(await statusesOf(first, '/limited', 1), [429], 'a managed rule is in force');
  await untilDegraded(fleet);
}

/** A write is taken, is in force everywhere, and lies in the file. */
async function checkTaken(t: Test, path: string, before: Readonly<Record<string, number | undefined>>): Promise<void> {
  t.same(await manualCaps(fleet), before, 'every acknowledged write is there');
  t.same(await statusesOf(first, '/limited', 1), [429]);
  t.equal((await put(path, 7)).status, 200);
  const slowdown = watchSlowdown(fleet.controlPlane, first.process);
  const delays = await delaysUntil(fleet.proxies, 'the rule to be in force', async (proxy) =>
    (await usageOf(proxy, path)).some(({ subject }) => subject === path),
  );
  t.ok(Math.max(...delays) < 1_500 * slowdown());
  t.equal(documentsInFile(), Object.keys(before).length + 1);
}

await fleet.recovered();
await fleet.write('PUT', dayRule('/limited', 1));
await fleet.settle();
await statusesOf(first, '/limited', 1);

await test('locked by another process', async (t) => {
  const before = await manualCaps(fleet);
  const database = new DatabaseSync(file);
  t.teardown(() => database.close());
  await underLoad(t, fleet, async () => {
    const startedMs = performance.now();
    database.exec('BEGIN EXCLUSIVE');
    await checkRefused(t);
    await waitFor('reading to go on', async () => (await askAdmin(first)).status === 200);
    await waitFor('a second', () => performance.now() > startedMs + extent(2_000, 1_000));
    database.exec('ROLLBACK');
  });
  await checkTaken(t, '/after/lock', before);
});

await test('taken over by a newer version', async (t) => {
  const before = await manualCaps(fleet);
  await underLoad(t, fleet, async () => {
    sql('PRAGMA user_version = 99');
    await checkRefused(t);
    sql('PRAGMA user_version = 1');
  });
  await checkTaken(t, '/after/newer', before);
});

await test('on a disk without room', async (t) => {
  const before = await manualCaps(fleet);
  const pids = [fleet.controlPlane, ...fleet.proxies.map(({ process }) => process)].map(({ pid }) => String(pid));
  // No file of theirs may grow: SQLite gets the same answer to a write as from a full disk, but for its number.
  const limitFiles = (most: string): void => {
    for (const pid of pids) execFileSync('prlimit', ['--pid', pid, `--fsize=${most}:`], { stdio: 'pipe' });
  };
  t.teardown(() => limitFiles('unlimited'));
  await underLoad(t, fleet, async () => {
    limitFiles('0');
    await checkRefused(t);
    await waitFor('reading to go on', async () => (await askAdmin(first)).status === 200);
    limitFiles('unlimited');
  });
  await checkTaken(t, '/after/room', before);
});

await test('moved away, a directory in its place, and put back', async (t) => {
  const before = await manualCaps(fleet);
  await underLoad(t, fleet, async () => {
    for (const part of parts) renameSync(file + part, aside + part);
    mkdirSync(file);
    await checkRefused(t);
    rmdirSync(file);
    for (const part of parts) renameSync(aside + part, file + part);
  });
  await checkTaken(t, '/after/directory', before);
});

await test('emptied', async (t) => {
  const before = await manualCaps(fleet);
  await underLoad(t, fleet, async () => {
    await spoil(() => truncateSync(file, 0));
    await waitFor('the rules to be written back', () => {
      try {
        return documentsInFile() === Object.keys(before).length;
      } catch {
        return false;
      }
    });
    t.same(await statusesOf(first, '/limited', 1), [429], 'a managed rule is in force');
  });
  await checkTaken(t, '/after/emptied', before);
});

const damages: [what: string, damage: () => void][] = [
  ['garbage in the middle', () => overwrite(4_096, statSync(file).size - 4_096)],
  ['garbage at the beginning', () => overwrite(0, 4_096)],
  ['cut behind its first page', () => truncateSync(file, 4_096)],
];
function overwrite(at: number, length: number): void {
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, Buffer.alloc(length, 'garbage '), 0, length, at);
  closeSync(descriptor);
}

for (const [what, damage] of damages) {
  await test(`${what}, and a copy put in its place`, async (t) => {
    const before = await manualCaps(fleet);
    await underLoad(t, fleet, async () => {
      rmSync(aside, { force: true });
      sql(`VACUUM INTO '${aside}'`);
      await spoil(damage, true);
      const { ino } = statSync(file);
      await checkRefused(t);
      t.equal(statSync(file, { throwIfNoEntry: false })?.ino, ino, 'what is left of it is left to be looked at');
      for (const part of parts) rmSync(file + part, { force: true });
      renameSync(aside, file);
    });
    await checkTaken(t, `/after/${what.replaceAll(' ', '-')}`, before);
  });
}

await test('everything that was acknowledged is there after a restart of all', async (t) => {
  await fleet.write('PUT', dayRule('/counted', 1));
  await fleet.settle();
  await statusesOf(first, '/counted', 1);
  const before = await manualCaps(fleet);
  await Promise.all([fleet.controlPlane, ...fleet.proxies.map(({ process }) => process)].map((plane) => plane.stop()));
  await fleet.restartControlPlane();
  await Promise.all(fleet.proxies.map((proxy) => proxy.restart()));
  await fleet.recovered();
  t.same(await manualCaps(fleet), before);
  t.same(await statusesOf(first, '/counted', 1), [429]);
  checkUnharmed(t, fleet, upstream);
});
