// Following a directory while another configuration is given in its place: that is in force, and what the directory holds waits.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { load } from '../../gitops/assemble/load-off-thread.ts';
import { type GivenConfig, givenConfig } from '../../gitops/follow/given-config.ts';
import { packFiles, unpackFiles } from '../../gitops/read/packed-files.ts';
import { readDirectory, revisionOf } from '../../gitops/read/read.ts';
import { bomb, broken, folder, limit, soonMs, start, until } from './following.ts';

const given = (text: string): GivenConfig =>
  givenConfig('pinned', [{ name: 'a.yaml', path: 'pinned:a.yaml', bytes: Buffer.from(text) }]);

const revisionIn = async (directory: string): Promise<string> => revisionOf((await readDirectory(directory)).hash);

await test('a given configuration is in force, and the directory waits until it is taken back', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10) });
  let current: GivenConfig | undefined;
  const { follower, cap, events } = await start(t, directory, { given: () => current });
  const first = await revisionIn(directory);

  current = given(limit(5));
  await follower.given();
  t.equal(cap(), 5);
  t.match(follower.status(), { source: 'pinned', revision: revisionOf(current.hash), waiting: first });
  t.strictSame(follower.status().given, { source: 'pinned', revision: revisionOf(current.hash), problems: [] });
  t.match(events.at(-1), {
    kind: 'given',
    changes: [{ words: 'tightened: rule user_path /team minute: max_requests 10 → 5' }],
  });

  writeFileSync(join(directory, 'a.yaml'), limit(20));
  const second = await revisionIn(directory);
  t.ok(await until(() => follower.status().waiting === second, soonMs), 'an edit is looked at, and waits');
  t.equal(cap(), 5);
  writeFileSync(join(directory, 'a.yaml'), broken);
  t.ok(await until(() => follower.status().problems.length > 0, soonMs), 'a broken one is told');
  t.match(follower.status(), { waiting: await revisionIn(directory), lastReloadSuccessful: false });
  writeFileSync(join(directory, 'a.yaml'), limit(20));
  t.ok(await until(() => follower.status().problems.length === 0, soonMs));

  current = undefined;
  await follower.given();
  t.equal(cap(), 20, 'what has waited is in force at once');
  t.match(follower.status(), { source: 'directory', revision: second, given: undefined, waiting: undefined });
});

await test('a directory that is broken when it is asked again leaves the given configuration as the last good one', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10) });
  const lastGoodFolder = folder(t);
  let current: GivenConfig | undefined = given(limit(5));
  const first = await start(t, directory, { given: () => current, lastGoodFolder });
  t.match(first.follower.status(), { source: 'pinned' });
  writeFileSync(join(directory, 'a.yaml'), broken);
  await first.follower.reload();
  current = undefined;
  await first.follower.given();
  t.match(first.follower.status(), { source: 'last-good', lastReloadSuccessful: false });
  t.equal(first.cap(), 5);
  await first.follower.close();
  const second = await start(t, directory, { lastGoodFolder });
  t.equal(second.cap(), 5, 'also after a restart');
  writeFileSync(join(directory, 'a.yaml'), limit(7));
  t.ok(await until(() => second.cap() === 7, soonMs));
});

await test('what is given while an edit is being loaded is in force, and the edit waits', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10) });
  let current: GivenConfig | undefined;
  const [edit, loading] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slowly: typeof load = async (files, ...rest) => {
    if (files[0]?.bytes.toString() === limit(20)) {
      loading.resolve();
      await edit.promise;
    }
    return load(files, ...rest);
  };
  const { follower, applied } = await start(t, directory, { given: () => current, load: slowly });
  // The first refresh, which does not decide about an edit, has ended.
  await follower.reload();
  writeFileSync(join(directory, 'a.yaml'), limit(20));
  const reloaded = follower.reload();
  await loading.promise;
  current = given(limit(5));
  const taken = follower.given();
  edit.resolve();
  await Promise.all([reloaded, taken]);
  t.same(
    applied.map((config) => config.rate_limits.user_paths[0]?.limits[0]?.max_requests),
    [10, 5],
    'the edit was never in force',
  );
  const waiting = await revisionIn(directory);
  t.ok(await until(() => follower.status().waiting === waiting, soonMs));
});

await test('a given configuration that cannot be used here changes nothing, and is tried again', async (t) => {
  const directory = folder(t, { 'a.yaml': limit(10) });
  const environment: Record<string, string> = {};
  const current = given(`providers: { p: { type: openai, api_key: "\${KEY_OF_P}" } }\n`);
  let isGiven = false;
  const options = { environment, given: () => (isGiven ? current : undefined) };
  const { follower, cap, events, kinds } = await start(t, directory, options);
  isGiven = true;
  await follower.given();
  await follower.given();
  t.equal(cap(), 10);
  t.match(follower.status(), { source: 'directory', given: { problems: [{ file: 'pinned:a.yaml' }] } });
  t.match(follower.status().given?.problems[0]?.message, 'KEY_OF_P');
  t.same(kinds().slice(1), ['given-unusable'], 'told once');
  writeFileSync(join(directory, 'a.yaml'), limit(20));
  t.ok(await until(() => kinds().includes('waiting'), soonMs), 'the directory waits all the same');
  t.equal(cap(), 10);
  environment['KEY_OF_P'] = 'sk-a-key';
  await follower.given();
  t.match(follower.status(), { source: 'pinned', given: { problems: [] } });
  t.match(events.at(-1), { kind: 'given' });
});

await test('a start needs no directory when a configuration is given', async (t) => {
  const directory = folder(t);
  rmSync(directory, { recursive: true });
  const { follower, cap } = await start(t, directory, { given: async () => given(limit(5)) });
  t.equal(cap(), 5);
  t.ok(await until(() => follower.status().problems.length > 0, soonMs), 'that it is not there is told');
  t.equal(follower.status().source, 'pinned');
});

await test('a start with a given configuration that cannot be used takes the directory', async (t) => {
  const { follower, cap } = await start(t, folder(t, { 'a.yaml': limit(10) }), { given: () => given(broken) });
  t.equal(cap(), 10);
  t.match(follower.status(), { source: 'directory', given: { problems: [{ line: 2 }] } });
});

await test('files are unpacked as they were packed', async (t) => {
  const files = (await readDirectory(folder(t, { 'a.yaml': limit(1), 'b.yaml': '', 'ä.yaml': '\ufeff{}' }))).files;
  const packed = await packFiles(files);
  t.same(
    (await unpackFiles(packed, 'r'))?.map(({ name, path, bytes }) => [name, path, Buffer.from(bytes)]),
    files.map(({ name, bytes }) => [name, `r:${name}`, Buffer.from(bytes)]),
  );
  for (const text of ['', 'no gzip', packed.slice(0, 40)])
    t.equal(await unpackFiles(text, 'r'), undefined, 'anything else is no configuration');
  t.equal(await unpackFiles(bomb(), 'r'), undefined, 'a text that unpacks to more than a directory may hold is none');
});
