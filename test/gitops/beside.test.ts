// Files of tests and policies in a configuration directory: no part of the configuration, and named where they look like one.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { checkConfig } from '../../gitops/cli/check-directory.ts';
import { fingerprintDirectory } from '../../gitops/follow/fingerprint.ts';
import { recallLastGood } from '../../gitops/follow/last-good.ts';
import { readDirectory } from '../../gitops/read/read.ts';
import { folder, limit, start } from './following.ts';

const sound = 'tests: [{ name: a, given: { model: m }, expect: { admitted: true } }]\n';
const beside = ['a.test.yaml', 'b.test.yml', 'policies/c.cel.yaml', 'd.cel.yml'];

await test('files of tests and policies change neither the configuration nor its revision', async (t) => {
  const place = folder(t, { 'a.yaml': limit(10), 'test.yaml': '{}', 'cel.yml': '{}' });
  mkdirSync(join(place, 'policies'));
  const [before, seen] = [await readDirectory(place), await fingerprintDirectory(place)];
  for (const name of beside) writeFileSync(join(place, name), name.includes('.cel.') ? 'policies: []\n' : sound);
  const after = await readDirectory(place);
  t.same(
    after.files.map(({ name }) => name),
    ['a.yaml', 'cel.yml', 'test.yaml'],
  );
  t.equal(after.hash, before.hash);
  const { files, place: found } = await fingerprintDirectory(place);
  t.same({ files, found }, { files: seen.files, found: seen.place }, 'no reload');
  const { output, code } = await checkConfig([place], {});
  t.match(output, /: ok, 3 files, 2 files of tests, revision /);
  t.equal(code, 0);
});

await test('a file beside the configuration that has its keys is named, at a start and by check', async (t) => {
  const said =
    'is no part of the configuration, because a file of this name holds tests; it has the key rate_limits of a configuration: rename the file if it belongs to it';
  const place = folder(t, {
    'a.yaml': limit(10),
    'limits.test.yaml': limit(1),
    'both.test.yaml': 'tests: []\nproviders: {}\n',
    'other.test.yaml': 'models: {}\n',
  });
  const lastGoodFolder = folder(t);
  const { events, follower } = await start(t, place, { lastGoodFolder });
  await follower.close();
  const problems = [{ file: join(place, 'limits.test.yaml'), message: said }];
  t.match(events, [{ kind: 'warning', problems }, { kind: 'applied' }]);
  t.equal(events[0]?.problems.length, 1);
  const { lastGood } = await recallLastGood(lastGoodFolder, place);
  t.same(
    lastGood?.files.map(({ name }) => name),
    ['a.yaml'],
  );
  const { output } = await checkConfig([place, '--format', 'json'], {});
  t.match(JSON.parse(output), { warnings: problems, files: 1, test_files: 3, policies: 0 });
});
