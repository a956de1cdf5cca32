// Following a directory: a mistake never changes the configuration in force, is reported once, and blocks nothing.
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { ConfigRejected } from '../../gitops/follow/config-rejected.ts';
import { lastGoodPath } from '../../gitops/follow/last-good.ts';
import { formatProblem } from '../../gitops/read/problem.ts';
import { extent } from '../support/extent.ts';
import {
  broken,
  folder,
  limit,
  pause,
  refusal,
  settle,
  soonMs,
  start,
  timed,
  until,
  watchStalls,
} from './following.ts';

// Most of the time here is waiting for the file system.
suite.jobs = 4;

void test('bad content changes nothing and is reported once, within a second', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10), 'b.yaml': 'aliases: []\n' });
  const { follower, cap, events, applied, kinds } = await start(t, directory);
  const { revision } = follower.status();
  writeFileSync(join(directory, 'a.yaml'), limit(11));
  writeFileSync(join(directory, 'b.yaml'), 'aliases: [{ source: a, target: nowhere/x }]\n');
  t.ok(await until(() => !follower.status().lastReloadSuccessful, soonMs), 'the status says so');
  await settle();
  t.same(kinds(), ['applied', 'rejected']);
  t.match(events[1]?.problems.map(formatProblem), [
    /b\.yaml:1:32 {2}aliases\[0\]\.target {2}there is no provider "nowhere"/,
  ]);
  t.equal(applied.length, 1, 'the good half is not applied either');
  t.match(follower.status(), {
    revision,
    source: 'directory',
    reloads: { success: 0, failure: 1 },
    problems: [{ line: 1 }],
    rejected: { revision: events[1]?.revision },
  });
  const { rejected } = follower.status();
  writeFileSync(join(directory, 'b.yaml'), 'aliases: [{ source: a, target: elsewhere/x }]\n');
  t.ok(await until(() => follower.status().rejected?.revision !== rejected?.revision, soonMs), 'another mistake');
  t.equal(follower.status().rejected?.sinceMs, rejected?.sinceMs, 'nothing was good in between');
  writeFileSync(join(directory, 'b.yaml'), 'aliases: []\n');
  t.ok(await until(() => cap() === 11, soonMs), 'corrected, it is live');
  t.equal(follower.status().rejected, undefined);
  t.match(follower.status(), { lastReloadSuccessful: true, reloads: { success: 1, failure: 2 }, problems: [] });
  t.not(follower.status().revision, revision);
});

void test('going back to what is in force is a recovery, not a reload of anything', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10) });
  const { follower, applied, kinds } = await start(t, directory);
  writeFileSync(join(directory, 'a.yaml'), broken);
  t.ok(await until(() => !follower.status().lastReloadSuccessful, soonMs));
  writeFileSync(join(directory, 'a.yaml'), limit(10));
  t.ok(await until(() => follower.status().lastReloadSuccessful, soonMs));
  t.same(kinds(), ['applied', 'rejected', 'recovered']);
  t.equal(applied.length, 1);
});

void test('empty content is not a wish for an empty configuration', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10) });
  const { follower, cap } = await start(t, directory);
  for (const text of ['', '# nothing\n']) {
    writeFileSync(join(directory, 'a.yaml'), text);
    t.ok(await until(() => follower.status().problems[0]?.message.startsWith('is empty') === true, soonMs));
    t.equal(cap(), 10, 'the rules are still in force');
    writeFileSync(join(directory, 'a.yaml'), limit(10));
    t.ok(await until(() => follower.status().lastReloadSuccessful, soonMs));
  }
  writeFileSync(join(directory, 'a.yaml'), '{}\n');
  t.ok(await until(() => cap() === undefined, soonMs), '{} is');
});

void test('a configuration that disappears stays in force until it returns', async (t) => {
  const root = folder(t);
  const directory = join(root, 'config');
  mkdirSync(directory);
  writeFileSync(join(directory, 'a.yaml'), limit(10));
  const { follower, cap } = await start(t, directory);
  unlinkSync(join(directory, 'a.yaml'));
  t.ok(await until(() => !follower.status().lastReloadSuccessful, soonMs), 'the only file deleted');
  t.equal(cap(), 10);
  writeFileSync(join(directory, 'a.yaml'), limit(11));
  t.ok(await until(() => cap() === 11, soonMs), 'the file is back');
  renameSync(directory, `${directory}.away`);
  t.ok(await until(() => !follower.status().lastReloadSuccessful, soonMs), 'the directory moved away');
  t.match(follower.status().problems, [{ message: 'the configuration directory does not exist' }]);
  t.equal(cap(), 11);
  renameSync(`${directory}.away`, directory);
  t.ok(await until(() => follower.status().lastReloadSuccessful, soonMs), 'the directory is back');
  writeFileSync(join(directory, 'a.yaml'), limit(12));
  t.ok(await until(() => cap() === 12, soonMs), 'and is watched again');
});

void test('deleting one of several files is an edit like any other', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10), 'b.yaml': 'server: { body_limit: 1MiB }\n' });
  const { applied, kinds } = await start(t, directory);
  unlinkSync(join(directory, 'b.yaml'));
  t.ok(await until(() => applied.at(-1)?.server.body_limit === '32MiB', soonMs));
  t.same(kinds(), ['applied', 'applied']);
});

void test('what is not a regular file is a problem and does not block', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10) });
  const { follower, cap } = await start(t, directory);
  const strange: [string, (path: string) => void][] = [
    ['named pipe', (path) => void execFileSync('mkfifo', [path])],
    ['directory', (path) => mkdirSync(path)],
    ['device', (path) => symlinkSync('/dev/zero', path)],
    ['leads back to itself', (path) => symlinkSync('strange.yaml', path)],
    ['larger than 8 MiB', (path) => writeFileSync(path, '#'.repeat(9_000_000))],
    ['UTF-16', (path) => writeFileSync(path, Buffer.from('\ufeff{}', 'utf16le'))],
  ];
  for (const [name, make] of strange) {
    make(join(directory, 'strange.yaml'));
    t.ok(await until(() => follower.status().problems[0]?.message.includes(name) === true, soonMs), name);
    rmSync(join(directory, 'strange.yaml'), { recursive: true });
    t.ok(await until(() => follower.status().lastReloadSuccessful, soonMs), `${name} gone`);
  }
  t.equal(cap(), 10);
});

void test('a configuration that cannot be put in force is rejected', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10) });
  const caps: (number | undefined)[] = [];
  const { follower, kinds } = await start(t, directory, {
    apply: ({ rate_limits: { user_paths } }) => {
      const value = user_paths[0]?.limits[0]?.max_requests;
      if (value === 13) throw new Error('unlucky');
      caps.push(value);
    },
  });
  const { revision } = follower.status();
  writeFileSync(join(directory, 'a.yaml'), limit(13));
  t.ok(await until(() => !follower.status().lastReloadSuccessful, soonMs));
  t.match(follower.status(), { revision, problems: [{ message: /put in force: unlucky/ }], reloads: { failure: 1 } });
  writeFileSync(join(directory, 'a.yaml'), limit(14));
  t.ok(await until(() => caps.at(-1) === 14, soonMs));
  t.same(kinds(), ['applied', 'rejected', 'applied']);
});

void test('a warning that stays is reported once', async (t) => {
  const text = (key: string, model: string): string =>
    `providers: { openai: { type: openai, api_key: "${key}", models: [${model}] } }\n`;
  const directory = folder(t, { 'a.yaml': text('sk-literal', 'a') });
  const { events, applied, kinds } = await start(t, directory);
  t.match(events.find(({ kind }) => kind === 'warning')?.problems, [{ message: /written out in the file/ }]);
  writeFileSync(join(directory, 'a.yaml'), text('sk-literal', 'b'));
  t.ok(await until(() => applied.length === 2, soonMs));
  writeFileSync(join(directory, 'a.yaml'), text('', 'b'));
  t.ok(await until(() => applied.length === 3, soonMs));
  t.same(kinds().filter((kind) => kind === 'warning').length, 2, 'another one is reported again');
  t.notMatch(events.flatMap(({ problems }) => problems.map(formatProblem)).join('\n'), /sk-literal/);
});

void test('thousands of rules stall the loop for at most 50 ms', { buffered: false }, async (t) => {
  const count = extent(10_000, 2_000);
  const rules = (cap: number): string =>
    `rate_limits:\n  user_paths:\n${Array.from({ length: count }, (_, index) => `    - path: /team/${index}\n      limits: [{ period: minute, max_requests: ${cap} }]\n`).join('')}`;
  const directory = folder(t, { 'a.yaml': rules(10) });
  const { cap, applied } = await start(t, directory);
  t.equal(applied[0]?.rate_limits.user_paths.length, count);
  const stalls: number[] = [];
  const times: number[] = [];
  const isShown = (): boolean => Math.min(...stalls) <= 50 && Math.min(...times) <= 5_000;
  // Other work on the machine may stall one round; then another one decides.
  for (let value = 11; value <= 13 && !isShown(); value += 1) {
    const text = rules(value);
    const watched = watchStalls();
    times.push(
      await timed(
        () => writeFileSync(join(directory, 'a.yaml'), text),
        () => cap() === value,
      ),
    );
    stalls.push(watched());
  }
  t.ok(Math.min(...stalls) <= 50, `longest stall: ${stalls.map((ms) => `${ms.toFixed(1)} ms`).join(', ')}`);
  t.ok(Math.min(...times) <= 5_000, `live: ${times.map((ms) => `${Math.round(ms)} ms`).join(', ')}`);
});

void test('no file, short or long, blocks the event loop', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10) });
  const { follower } = await start(t, directory);
  const filled = (bytes: number, line: (index: number) => string): string => {
    let text = '';
    for (let index = 0; text.length < bytes - 40; index += 1) text += line(index);
    return text;
  };
  const cases: Record<string, (bytes: number) => string> = {
    'unknown keys': (bytes) => filled(bytes, (index) => `k${index}: 1\n`),
    'unknown keys of a provider': (bytes) =>
      `providers:\n  a:\n    type: openai\n    models: [m]\n${filled(bytes - 60, (index) => `    k${index}: 1\n`)}`,
    'nested lists': (bytes) => `a: ${'['.repeat(bytes - 10)}`,
    'a good list of models': (bytes) =>
      `providers:\n  a:\n    type: openai\n    models: [m${filled(bytes - 60, (index) => `, m${index}`)}]\n`,
  };
  const mostStallMs = 1_000;
  for (const bytes of [8_000, 32_000]) {
    for (const [name, make] of Object.entries(cases)) {
      const stalls: number[] = [];
      // Other work on the machine may stall one round; then another one decides.
      for (let round = 0; round < 2 && !(Math.min(...stalls) <= mostStallMs); round += 1) {
        writeFileSync(join(directory, 'a.yaml'), `${make(bytes)}\n# ${round}`);
        const watched = watchStalls();
        await follower.reload();
        await pause(5);
        stalls.push(watched());
        await pause(30);
      }
      const shown = stalls.map((ms) => `${ms.toFixed(1)} ms`).join(', ');
      // Aimed at 50 ms; counting coverage takes several times as long, and only a hang is wrong on every machine.
      t.comment(`${bytes} bytes of ${name}: ${shown}`);
      t.ok(Math.min(...stalls) <= mostStallMs, `${bytes} bytes of ${name}`);
    }
  }
});

void test('a first start with bad configuration is refused with every problem', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(0), 'b.yaml': 'aliases: 5\n' });
  const error = await start(t, directory).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  t.ok(error instanceof ConfigRejected);
  t.match(error, {
    problems: [{ file: join(directory, 'a.yaml') }, { file: join(directory, 'b.yaml') }],
    message: /at least 1[\s\S]*must be a list/,
  });
  await t.rejects(start(t, join(directory, 'missing')), /does not exist/);
  await t.rejects(start(t, folder(t)), /has no \*\.yaml/);
  await t.rejects(
    start(t, directory, {
      apply: () => {
        throw new Error('no');
      },
    }),
    ConfigRejected,
  );
});

void test('a restart with bad configuration starts on the last good one', async (t) => {
  const lastGoodFolder = join(folder(t), 'data');
  const first = `${limit(10)}providers:\n  openai:\n    type: openai\n    api_key: \${OPENAI_API_KEY}\n    models: [m]\n`;
  const directory = folder(t, { 'a.yaml': first });
  const before = await start(t, directory, { lastGoodFolder });
  await before.follower.close();
  const copy = lastGoodPath(lastGoodFolder, directory);
  t.equal(statSync(copy).mode & 0o777, 0o600);
  t.notMatch(
    readFileSync(copy, 'utf8') +
      Buffer.from(JSON.parse(JSON.parse(readFileSync(copy, 'utf8')).content)[0][2], 'base64').toString(),
    /sk-canary-key/,
    'no secret on disk',
  );
  t.same(readdirSync(lastGoodFolder).length, 1, 'nothing else is left behind');

  for (const spoil of [
    () => writeFileSync(join(directory, 'a.yaml'), broken),
    () => writeFileSync(join(directory, 'a.yaml'), ''),
    () => unlinkSync(join(directory, 'a.yaml')),
    () => rmSync(directory, { recursive: true }),
  ]) {
    spoil();
    const after = await start(t, directory, { lastGoodFolder });
    t.match(after.follower.status(), {
      source: 'last-good',
      lastReloadSuccessful: false,
      lastSuccessMs: 0,
      revision: before.follower.status().revision,
      problems: [{ file: RegExp(directory) }],
    });
    t.same(after.kinds(), ['rejected', 'last-good-used']);
    t.match(after.applied, [{ providers: { openai: { api_key: 'sk-canary-key' } } }], 'expanded as on the first day');
    await after.follower.close();
  }

  mkdirSync(directory, { recursive: true });
  const after = await start(t, directory, { lastGoodFolder });
  writeFileSync(join(directory, 'a.yaml'), limit(11));
  t.ok(await until(() => after.cap() === 11, soonMs), 'a corrected directory takes over');
  t.match(after.follower.status(), { source: 'directory', lastReloadSuccessful: true, problems: [] });
  await after.follower.close();

  writeFileSync(join(directory, 'a.yaml'), broken);
  const again = await start(t, directory, { lastGoodFolder });
  t.equal(again.cap(), 11, 'the copy follows what is in force');
  writeFileSync(join(directory, 'a.yaml'), limit(11));
  t.ok(
    await until(() => again.follower.status().source === 'directory', soonMs),
    'the directory may come back to the copy',
  );
  t.same(again.kinds(), ['rejected', 'last-good-used', 'recovered']);
});

void test('a variable that is not set is a mistake like any other: the last good copy serves', async (t) => {
  const lastGoodFolder = folder(t);
  const directory = folder(t, { 'a.yaml': limit(10) });
  const before = await start(t, directory, { lastGoodFolder });
  await before.follower.close();
  writeFileSync(
    join(directory, 'b.yaml'),
    `providers: { a: { type: openai, api_key: "\${NOBODY_SETS_THIS}", models: [m] } }\n`,
  );
  const after = await start(t, directory, { lastGoodFolder });
  t.same(after.kinds(), ['rejected', 'last-good-used']);
  t.match(after.follower.status().problems, [{ message: /NOBODY_SETS_THIS is not set/ }]);
  t.equal(after.cap(), 10);
});

void test('directories do not share a copy', async (t) => {
  const lastGoodFolder = folder(t);
  const [one, two] = [folder(t, { 'a.yaml': limit(10) }), folder(t, { 'a.yaml': broken })];
  await start(t, one, { lastGoodFolder });
  await t.rejects(start(t, two, { lastGoodFolder }), ConfigRejected);
});

void test('a missing entitlement aborts a start, last good copy or not, and rejects a reload', async (t) => {
  const template = limit(10).replace('- path: /team', '- path: /team\n      per_child: true');
  const lastGoodFolder = folder(t);
  const directory = folder(t, { 'a.yaml': limit(10) });
  const { follower, cap } = await start(t, directory, { lastGoodFolder });
  writeFileSync(join(directory, 'a.yaml'), template);
  t.ok(await until(() => !follower.status().lastReloadSuccessful, soonMs));
  t.match(follower.status().problems, [{ fatal: true }]);
  t.equal(cap(), 10);
  await follower.close();
  t.match(await refusal(start(t, directory, { lastGoodFolder })), { problems: [{ fatal: true }] });
  const entitled = await start(t, directory, { lastGoodFolder, entitlements: new Set(['quota_templates']) });
  t.equal(entitled.cap(), 10);
  await entitled.follower.close();
  writeFileSync(join(directory, 'a.yaml'), broken);
  await t.rejects(start(t, directory, { lastGoodFolder }), /last good copy/, 'nor does the copy get by without it');
});

void test('a copy that cannot be trusted is ignored with a warning', async (t) => {
  const lastGoodFolder = folder(t);
  const directory = folder(t, { 'a.yaml': limit(10) });
  const first = await start(t, directory, { lastGoodFolder });
  await first.follower.close();
  writeFileSync(join(directory, 'a.yaml'), broken);
  const copy = lastGoodPath(lastGoodFolder, directory);
  const sound = readFileSync(copy);
  const middle = Math.floor(sound.length / 2);
  const spoilt: [string, Buffer | string, RegExp][] = [
    ['truncated', sound.subarray(0, middle), /damaged/],
    ['empty', '', /damaged/],
    ['one bit flipped', Buffer.from(sound.map((byte, index) => (index === middle ? byte ^ 1 : byte))), /damaged/],
    ['another version', sound.toString().replace('"version":1', '"version":2'), /another version/],
    ['no object', 'null', /damaged/],
    ['no content', '{"version":1}', /damaged/],
  ];
  for (const [name, bytes, message] of spoilt) {
    writeFileSync(copy, bytes);
    const warnings: string[] = [];
    await t.rejects(
      start(t, directory, {
        lastGoodFolder,
        report: (event) => void warnings.push(...event.problems.map(formatProblem)),
      }),
      ConfigRejected,
      name,
    );
    t.match(warnings, [message], name);
  }
});

void test('a copy that cannot be written is a warning', async (t) => {
  const inTheWay = join(folder(t, { file: '' }), 'file');
  const directory = folder(t, { 'a.yaml': limit(10) });
  const { kinds, events, cap } = await start(t, directory, { lastGoodFolder: inTheWay });
  t.same(kinds(), ['applied', 'warning']);
  t.match(events[1]?.problems, [{ message: /could not be written/ }]);
  writeFileSync(join(directory, 'a.yaml'), limit(11));
  t.ok(await until(() => cap() === 11, soonMs));
});
