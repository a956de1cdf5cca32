// Before a release, what has to agree is compared; what does not is said with what to do.
import { test } from 'tap';
import { findings, type ReleaseTexts } from '../../deploy/release/findings.ts';

const whole: ReleaseTexts = {
  version: '1.2.0',
  lock: { version: '1.2.0' },
  changelog: '# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-31\n\n## [1.1.0] - 2025-12-01\n',
  chart: 'apiVersion: v2\nappVersion: "1.2.0"\n',
  fixtures: ['1.1.0', '1.2.0'],
  built: { version: '1.2.0' },
  licenceBytes: 9,
  packages: [
    { name: 'a', version: '1.0.0', licence: 'MIT' },
    { name: 'b', version: '1.0.0', licence: '(GPL-2.0 OR Apache-2.0)' },
  ],
  tags: ['v1.2.0'],
};

const problemsOf = (change: Partial<ReleaseTexts>): readonly string[] =>
  findings({ ...whole, ...change }).flatMap(({ what, problem }) =>
    problem === undefined ? [] : `${what}: ${problem}`,
  );

await test('a release whose parts agree has no problem, and each that does not is named', async (t) => {
  t.same(problemsOf({}), []);
  t.same(problemsOf({ chart: undefined, tags: [] }), [], 'there may be no chart and no tag');
  t.match(problemsOf({ version: '1.2' })[0], /write MAJOR\.MINOR\.PATCH/);
  t.match(problemsOf({ lock: { version: '1.1.0' } }), [/package-lock\.json: says 1\.1\.0; run npm install/]);
  t.match(problemsOf({ changelog: '## [1.2.0]' }), [/CHANGELOG\.md: has no heading "## \[1\.2\.0\] - YYYY-MM-DD"/]);
  t.match(problemsOf({ fixtures: ['1.1.0'] }), [/is missing; run .*make\.ts/]);
  t.match(problemsOf({ chart: 'appVersion: 1.1.0' }), [/the chart: has appVersion 1\.1\.0/]);
  t.match(problemsOf({ built: {} }), [/npm run build/]);
  t.match(problemsOf({ licenceBytes: 0 }), [/LICENSES\.txt is empty/]);
  const packages = [{ name: 'c', version: '1.0.0', licence: 'MIT AND GPL-3.0' }];
  t.match(problemsOf({ packages }), [/not known to be permissive: c \(MIT AND GPL-3\.0\)/]);
  t.match(problemsOf({ tags: ['1.2.0'] }), [/the tag: 1\.2\.0 should be v1\.2\.0/]);
});
