// Following a directory: every way of editing is live within a second, and only an edit causes a reload.
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { t as suite, test } from 'tap';
import { extent } from '../support/extent.ts';
import { broken, folder, isLive, limit, pause, settle, soonMs, start, timed, until } from './following.ts';

// Most of the time here is waiting for the file system.
suite.jobs = 4;

void test('every way of editing is live within a second', async (t) => {
  t.jobs = 4;
  /** How long the half of a save was there, by file; the longest. Milliseconds. */
  const halvesMs = new Map<string, number>();
  const halfway = async (file: string): Promise<void> => {
    const startedMs = performance.now();
    await pause(150);
    halvesMs.set(file, Math.max(halvesMs.get(file) ?? 0, performance.now() - startedMs));
  };
  const cases: Record<string, (file: string, text: string) => void | Promise<void>> = {
    'written in place': (file, text) => writeFileSync(file, text),
    'renamed over': (file, text) => {
      writeFileSync(`${file}.tmp`, text);
      renameSync(`${file}.tmp`, file);
    },
    'saved with a backup, as vim does': (file, text) => {
      renameSync(file, `${file}~`);
      writeFileSync(file, text);
      unlinkSync(`${file}~`);
    },
    'deleted and written anew': (file, text) => {
      unlinkSync(file);
      writeFileSync(file, text);
    },
    'the same size and times as before': (file, text) => {
      const { atime, mtime } = statSync(file);
      writeFileSync(file, text);
      utimesSync(file, atime, mtime);
    },
    'truncated first and written after a while': async (file, text) => {
      writeFileSync(file, '');
      await halfway(file);
      writeFileSync(file, text);
    },
    'written in two halves': async (file, text) => {
      writeFileSync(file, text.slice(0, 40));
      await halfway(file);
      appendFileSync(file, text.slice(40));
    },
  };
  for (const [name, edit] of Object.entries(cases)) {
    void t.test(name, async (each) => {
      const directory = folder(each, { 'a.yaml': limit(10) });
      const { cap, kinds } = await start(each, directory);
      const times: number[] = [];
      for (const value of [11, 12, 13].slice(0, extent(3, 2))) {
        times.push(
          await timed(
            () => edit(join(directory, 'a.yaml'), limit(value)),
            () => cap() === value,
          ),
        );
      }
      isLive(each, times, name);
      const halfMs = halvesMs.get(join(directory, 'a.yaml')) ?? 0;
      const saveMs = Math.max(...times);
      // A half that is there, or being read, for longer than the patience with it is rejected, as it should be.
      if (halfMs >= 190 || saveMs >= 600)
        each.comment(`the machine stalled: half a save ${halfMs.toFixed(0)} ms, a save ${saveMs.toFixed(0)} ms`);
      else each.notOk(kinds().includes('rejected'), 'and nothing was rejected meanwhile');
    });
  }
});

void test('the valid first half of a save is never in force', async (t) => {
  t.jobs = 2;
  const [first, second] = [limit(11), 'aliases: []\nserver: { body_limit: 1MiB }\n'];
  const cases: Record<string, (file: string) => Promise<void>> = {
    'written in two steps': async (file) => {
      writeFileSync(file, first);
      await pause(150);
      appendFileSync(file, second);
    },
    'written in four steps': async (file) => {
      writeFileSync(file, first);
      for (const step of ['aliases: []\n', 'server:\n', '  body_limit: 1MiB\n']) {
        await pause(120);
        appendFileSync(file, step);
      }
    },
  };
  for (const [name, edit] of Object.entries(cases)) {
    void t.test(name, async (each) => {
      for (let round = 1; round <= extent(3, 2); round += 1) {
        const directory = folder(each, { 'a.yaml': limit(10) });
        const { applied, kinds, follower } = await start(each, directory);
        const began = performance.now();
        await edit(join(directory, 'a.yaml'));
        const wrote = performance.now() - began;
        const isThere = await until(() => applied.at(-1)?.server.body_limit === '1MiB', soonMs);
        each.ok(isThere, `the whole is in force`);
        // A busy machine may have made the pause between two steps longer than the look is patient.
        if (wrote < 480) each.equal(applied.length, 2, `and nothing before it, written in ${Math.round(wrote)} ms`);
        each.notOk(kinds().includes('rejected'));
        await follower.close();
      }
    });
  }
});

void test('a change without an event is live within a second too', async (t) => {
  const elsewhere = folder(t, { 'real.yaml': limit(10) });
  const directory = folder(t);
  symlinkSync(join(elsewhere, 'real.yaml'), join(directory, 'a.yaml'));
  const { cap } = await start(t, directory);
  const times: number[] = [];
  for (const value of [11, 12, 13, 14]) {
    times.push(
      await timed(
        () => writeFileSync(join(elsewhere, 'real.yaml'), limit(value)),
        () => cap() === value,
      ),
    );
  }
  isLive(t, times, 'the target of a symbolic link');
});

void test('a half-written file that takes half a second is not rejected', async (t) => {
  // A busy machine makes the pauses longer than the look is patient: such a round proves nothing, and another one follows.
  let wroteMs = Number.POSITIVE_INFINITY;
  for (let round = 0; wroteMs > 575 && round < 5; round += 1) {
    const directory = folder(t, { 'a.yaml': limit(10) });
    const { cap, kinds, follower } = await start(t, directory);
    const began = performance.now();
    for (const text of ['', 'rate_limits: [', 'rate_limits: [ ', broken]) {
      writeFileSync(join(directory, 'a.yaml'), text);
      await pause(130);
    }
    writeFileSync(join(directory, 'a.yaml'), limit(11));
    wroteMs = performance.now() - began;
    t.ok(await until(() => cap() === 11, soonMs));
    await settle();
    if (wroteMs <= 575) t.same(kinds(), ['applied', 'applied']);
    await follower.close();
  }
});

void test('a checkout of another branch is live within a second', async (t) => {
  const repository = folder(t);
  const git = (...args: string[]): void => {
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
      cwd: repository,
      stdio: 'ignore',
      env: { PATH: process.env['PATH'], GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    });
  };
  const directory = join(repository, 'config');
  mkdirSync(directory);
  git('init', '-b', 'ten');
  for (const [branch, value, extra] of [
    ['ten', 10, false],
    ['eleven', 11, true],
    ['empty', 0, false],
  ] as const) {
    if (branch !== 'ten') git('checkout', '-b', branch);
    if (value === 0) rmSync(directory, { recursive: true });
    else writeFileSync(join(directory, 'a.yaml'), limit(value));
    if (extra) writeFileSync(join(directory, 'b.yaml'), 'aliases: []\n');
    git('add', '-A');
    git('commit', '-m', branch);
  }
  git('checkout', 'ten');
  const { cap, kinds, follower } = await start(t, directory);
  const times: number[] = [];
  for (const [branch, value] of [
    ['eleven', 11],
    ['ten', 10],
    ['eleven', 11],
  ] as const) {
    times.push(
      await timed(
        () => git('checkout', branch),
        () => cap() === value,
      ),
    );
  }
  isLive(t, times, 'from branch to branch');
  git('checkout', 'empty');
  t.ok(
    await until(() => !follower.status().lastReloadSuccessful, soonMs),
    'a branch without the directory is rejected',
  );
  git('checkout', 'ten');
  t.ok(await until(() => cap() === 10 && follower.status().lastReloadSuccessful, soonMs), 'and the way back works');
  t.equal(kinds().filter((kind) => kind === 'rejected').length, 1);
});

void test('a mounted ConfigMap is live within a second of its swap', async (t) => {
  const directory = folder(t);
  const at = (...parts: string[]): string => join(directory, ...parts);
  const publish = (stamp: string, text: string): void => {
    mkdirSync(at(stamp));
    writeFileSync(at(stamp, 'a.yaml'), text);
    symlinkSync(stamp, at('..data_tmp'));
    renameSync(at('..data_tmp'), at('..data'));
  };
  publish('..2026_1', limit(10));
  symlinkSync(join('..data', 'a.yaml'), at('a.yaml'));
  const { cap } = await start(t, directory);
  const first = await timed(
    () => publish('..2026_2', limit(11)),
    () => cap() === 11,
  );
  const second = await timed(
    () => {
      publish('..2026_3', limit(12));
      rmSync(at('..2026_1'), { recursive: true });
      rmSync(at('..2026_2'), { recursive: true });
    },
    () => cap() === 12,
  );
  isLive(t, [first, second], 'the old directory kept, then deleted');
});

void test('a change in a nested directory is live within a second', async (t) => {
  const directory = folder(t, { 'a.yaml': 'aliases: []\n' });
  const at = (...parts: string[]): string => join(directory, ...parts);
  mkdirSync(at('teams/a'), { recursive: true });
  writeFileSync(at('teams/a/limits.yaml'), limit(10));
  const { cap, applied } = await start(t, directory);
  const paths = (): string[] => applied.at(-1)?.rate_limits.user_paths.map(({ path }) => path) ?? [];
  const edit = async (value: number): Promise<number> => {
    return await timed(
      () => writeFileSync(at('teams/a/limits.yaml'), limit(value)),
      () => cap() === value,
    );
  };
  isLive(t, [await edit(11), await edit(12)], 'an edit');
  const times: Record<'added' | 'changed' | 'removed', number[]> = { added: [], changed: [], removed: [] };
  for (const team of ['b', 'c']) {
    const file = at('teams', team, 'deep/limits.yaml');
    const add = (): void => {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, limit(5, '/new'));
    };
    const change = (): void => writeFileSync(file, limit(5, '/other'));
    const remove = (): void => rmSync(at('teams', team), { recursive: true });
    times.added.push(await timed(add, () => paths().join() === '/team,/new'));
    times.changed.push(await timed(change, () => paths().join() === '/team,/other'));
    times.removed.push(await timed(remove, () => paths().join() === '/team'));
  }
  isLive(t, times.added, 'a new directory');
  isLive(t, times.changed, 'an edit in it');
  isLive(t, times.removed, 'a removed directory');
});

void test('a directory that becomes another one is followed there', async (t) => {
  t.jobs = 3;
  void t.test('when its parent is replaced', async (each) => {
    const root = folder(each);
    const parent = join(root, 'parent');
    const directory = join(parent, 'config');
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'a.yaml'), limit(10));
    const { cap } = await start(each, directory);
    cpSync(parent, `${parent}.new`, { recursive: true });
    writeFileSync(join(`${parent}.new`, 'config', 'a.yaml'), limit(11));
    renameSync(parent, `${parent}.old`);
    renameSync(`${parent}.new`, parent);
    each.ok(await until(() => cap() === 11, soonMs), 'the new content');
    for (const value of [12, 13]) {
      writeFileSync(join(directory, 'a.yaml'), limit(value));
      each.ok(await until(() => cap() === value, soonMs), 'an edit in the new place');
    }
    writeFileSync(join(`${parent}.old`, 'config', 'a.yaml'), limit(99));
    await settle();
    each.equal(cap(), 13, 'the old place means nothing any more');
  });
  void t.test('when it is a symbolic link that is pointed elsewhere', async (each) => {
    const root = folder(each);
    for (const [name, value] of [
      ['one', 10],
      ['two', 11],
    ] as const) {
      mkdirSync(join(root, name));
      writeFileSync(join(root, name, 'a.yaml'), limit(value));
    }
    const directory = join(root, 'config');
    symlinkSync('one', directory);
    const { cap } = await start(each, directory);
    writeFileSync(join(root, 'one', 'a.yaml'), limit(20));
    each.ok(await until(() => cap() === 20, soonMs), 'an edit behind the link');
    symlinkSync('two', `${directory}.tmp`);
    renameSync(`${directory}.tmp`, directory);
    each.ok(await until(() => cap() === 11, soonMs), 'the other directory');
    writeFileSync(join(root, 'two', 'a.yaml'), limit(21));
    each.ok(await until(() => cap() === 21, soonMs), 'an edit there');
  });
  void t.test('when a file in it is a symbolic link whose target is edited', async (each) => {
    const elsewhere = folder(each, { 'real.yaml': limit(10) });
    const directory = folder(each);
    symlinkSync(join(elsewhere, 'real.yaml'), join(directory, 'a.yaml'));
    const { cap } = await start(each, directory);
    writeFileSync(join(elsewhere, 'real.yaml'), limit(11));
    each.ok(await until(() => cap() === 11, soonMs));
  });
});

void test('a hundred edits in a second are at most ten reloads, the last one wins', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10) });
  const { cap, follower } = await start(t, directory);
  const began = performance.now();
  for (let edit = 1; edit <= 100; edit += 1) {
    writeFileSync(join(directory, 'a.yaml.tmp'), limit(1_000 + edit));
    renameSync(join(directory, 'a.yaml.tmp'), join(directory, 'a.yaml'));
    await pause(10);
  }
  const seconds = (performance.now() - began) / 1_000;
  const during = follower.status().reloads.success;
  t.ok(during >= 1, 'some were live while the edits went on');
  t.ok(during <= 10 * seconds + 1, `${during} reloads in ${seconds.toFixed(1)} s`);
  t.ok(await until(() => cap() === 1_100, soonMs));
});

void test('a file touched again and again without a change causes no reload', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10) });
  const { follower, kinds } = await start(t, directory);
  for (let touch = 0; touch < extent(1_000, 200); touch += 1) {
    if (touch % 2 === 0) utimesSync(join(directory, 'a.yaml'), touch, touch);
    else writeFileSync(join(directory, 'a.yaml'), limit(10));
    if (touch % 50 === 0) await pause(10);
  }
  writeFileSync(join(directory, 'notes.txt'), 'no YAML');
  await settle();
  t.same(follower.status().reloads, { success: 0, failure: 0 });
  t.same(kinds(), ['applied']);
});

void test('the control plane keeps variables as they are written', async (t) => {
  const directory = folder(t, {
    'a.yaml': `providers: { openai: { type: openai, api_key: "\${OPENAI_API_KEY}", models: [m] } }\n`,
  });
  const { applied } = await start(t, directory, { variables: 'keep' });
  t.equal(applied[0]?.providers['openai']?.api_key, `\${OPENAI_API_KEY}`);
});

void test('a reload on demand applies or rejects at once', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10) });
  const { follower, cap } = await start(t, directory, { nowMs: () => 42 });
  t.same(
    await follower.reload(),
    { ...follower.status(), lastSuccessMs: 42, reloads: { success: 0, failure: 0 } },
    'nothing new is no reload',
  );
  writeFileSync(join(directory, 'a.yaml'), limit(11));
  t.match(await follower.reload(), { reloads: { success: 1, failure: 0 } });
  t.equal(cap(), 11);
  writeFileSync(join(directory, 'a.yaml'), broken);
  t.match(await follower.reload(), { lastReloadSuccessful: false, reloads: { success: 1, failure: 1 } });
  await settle();
  t.match(follower.status().reloads, { success: 1, failure: 1 }, 'the same fault is one failure');
  t.match(await follower.reload(), { reloads: { success: 1, failure: 2 } }, 'unless a reload is requested');
});

void test('closing ends everything', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10) });
  const { follower, cap } = await start(t, directory);
  writeFileSync(join(directory, 'a.yaml'), broken);
  await pause(200);
  await follower.close();
  writeFileSync(join(directory, 'a.yaml'), limit(11));
  await settle();
  t.equal(cap(), 10);
  t.ok(existsSync(directory));
});
