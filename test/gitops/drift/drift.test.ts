// `model-gateway drift`: git against what runs, with a real repository and a real control plane.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { drift } from '../../../deploy/cli/drift.ts';
import { exportManaged } from '../../../deploy/cli/export.ts';
import { readDirectory } from '../../../gitops/read/read.ts';
import { masterKey, startDriftPlane } from '../../control-plane/drift-plane.ts';
import { authored, nowMs, type Stored } from '../../control-plane/drift-stand.ts';
import { componentProblems } from '../../support/api-description.ts';
import { temporaryDirectory } from '../../support/teardown.ts';

process.env['GATEWAY_MASTER_KEY'] = masterKey;

const day = 86_400_000;
const limits = (cap: number): string =>
  `rate_limits:\n  user_paths:\n    - path: /team\n      limits:\n        - { period: minute, max_requests: ${cap} }\n`;
const rule = (subject: string, days: number, more: object = {}): Stored => ({
  kind: 'rate_limit',
  id: `user_path 60 ${subject}`,
  body: {
    scope: 'user_path',
    subject,
    per_child: false,
    period_seconds: 60,
    max_requests: 9,
    mode: 'enforce',
    ...authored,
    created_at: new Date(nowMs - days * day).toISOString(),
    ...more,
  },
});

/** A repository whose two commits say 60, then 61. */
function repository(t: Parameters<typeof temporaryDirectory>[0]) {
  const top = temporaryDirectory(t, 'drift');
  const directory = join(top, 'config');
  mkdirSync(directory);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: top, encoding: 'utf8' });
  git('init', '-q');
  for (const cap of [60, 61]) {
    writeFileSync(join(directory, 'limits.yaml'), limits(cap));
    git('add', '.');
    git('commit', '-qm', `cap ${cap}`);
  }
  return { directory, git };
}

await test('what runs what git says, and what does not: which commit that is, and what it lacks', async (t) => {
  const { directory, git } = repository(t);
  const { files } = await readDirectory(directory);
  const old = Buffer.from(limits(60));
  const { revisionOf, hashOf } = await import('../../../gitops/read/read.ts');
  const before = revisionOf(hashOf([{ name: 'limits.yaml', path: '', bytes: old }], []));
  const plane = await startDriftPlane(t, {
    files,
    sets: [
      rule('/a', 9),
      rule('/team', 1, { max_requests: 61, reason: '::error::x' }),
      rule('/b', 2, { expires_at: '2026-06-02T00:00:00.000Z' }),
    ],
    proxies: {
      'proxy-1': {},
      'proxy-2': {
        config_revision: before,
        config_problems: ['config/limits.yaml:5:1  is wrong'],
        config_rejected: ['abc', nowMs - 60_000],
        environment: 'other',
      },
    },
  });
  t.same(componentProblems('Drift', await plane.ask('drift')), []);
  t.same(componentProblems('Overrides', await plane.ask('overrides')), []);
  plane.clock.nowMs += 14 * 60_000;
  const run = (...args: string[]) => drift([directory, '--url', plane.address, ...args]);
  const { output, code } = await run();
  t.equal(code, 0);
  t.match(
    output,
    /^Drift: proxy-2 does not run what git says; a revision is rejected; .*; 3 overrides outside git, the oldest 9 d\.\n/,
  );
  t.match(output, new RegExp(`\\nproxy-1 +${plane.revision}  as git says\\n`));
  t.match(output, new RegExp(`\\nproxy-2 +${before}  NOT git's, for 14 min; its environment differs`));
  t.match(output, /\nproxy-2 rejects abc since 2026-06-01 11:59 UTC:\n {2}config\/limits/);
  const commit = git('rev-parse', 'HEAD~1').slice(0, 8);
  t.match(
    output,
    `${before} is commit ${commit}, 1 change behind. Since then, git says:\n  loosened: rule user_path /team minute: max_requests 60 → 61\n`,
  );
  t.match(
    output,
    /\n {2}9 d +rate limit +user_path \/a minute +by ann: launch day\n {2}2 d .*ends 2026-06-02 00:00 UTC\n {2}1 d .*; git says the same\n/,
  );
  t.match(await run('--ref', 'HEAD~1'), { output: /^Drift: control plane, proxy-1 do not run what git says/ });
  t.match(JSON.parse((await run('--format', 'json')).output), {
    planes: [{ same: true }, {}, { same: false, for_ms: 840_000 }],
    overrides: { total: 3 },
  });
  t.match(await run('--format', 'markdown'), { output: /\| proxy-2 \|.*NOT git's/ });
  t.notMatch((await run('--format', 'github')).output, /^::error/m, 'a reason gives the runner no command');
});

await test('conditions fail a pipeline, and unknown ones are refused', async (t) => {
  const { directory } = repository(t);
  const { files } = await readDirectory(directory);
  const { address } = await startDriftPlane(t, { files, sets: [rule('/a', 9)], proxies: { one: {} } });
  const rows: [condition: string, code: number, said: RegExp][] = [
    ['revision, rejected, environment, keys', 0, /^Drift: 1 override/],
    ['overrides', 1, /^failed: overrides \(it is 1\)$/m],
    ['age > 7d', 1, /^failed: age > 7d \(it is 9 d\)$/m],
    ['age >= 9d, age > 300h', 1, /^failed: age >= 9d/m],
    ['age > 10d', 0, /./],
    ['age > 7', 2, /compares age with no length of time: write such as 12h or 7d/],
    ['overrides > 7d', 2, /compares overrides with a length of time: write a number/],
    ['overrides > 5%', 2, /overrides has no share/],
    ['overides > 0', 2, /"overides" is unknown; did you mean "overrides"\?/],
    ['constructor', 2, /"constructor" is unknown/],
    ['revision < 1', 2, /is no condition: write a name/],
  ];
  for (const [condition, code, said] of rows)
    t.match(await drift([directory, '--url', address, '--fail-on', condition]), { code, output: said }, condition);
  t.match(await drift([join(directory, 'nowhere'), '--url', address]), { code: 2, output: /does not exist/ });
  t.match(await drift([directory, '--ref', 'nothing', '--url', address]), { code: 2, output: /"nothing" is neither/ });
});

await test('many are counted, and the newest are listed', async (t) => {
  const { directory } = repository(t);
  const { files } = await readDirectory(directory);
  const sets = Array.from({ length: 5_000 }, (_, index) => rule(`/many/${index}`, 1 + index / 5_000));
  const plane = await startDriftPlane(t, { files, sets });
  const body = await plane.ask('drift');
  const { overrides } = body as { overrides: { rows: { name: string }[] } };
  t.match(overrides, { total: 5_000, complete: false, kinds: [{ kind: 'rule', count: 5_000 }] });
  t.same([overrides.rows.length, overrides.rows[0]?.name], [200, 'user_path /many/0 minute']);
  t.match(await drift([directory, '--url', plane.address]), { output: /\n {2}and 4800 more\n/ });
});

await test('a patch of the files in force, and of those at hand: secrets and comments are in the second alone', async (t) => {
  const top = temporaryDirectory(t, 'drift');
  const directory = join(top, 'my config');
  mkdirSync(directory);
  const text = `rate_limits:
  user_paths:
    - path: /team
      limits:
        - period: minute
          max_requests: 60
    - path: /noted
      limits:
        - period: minute # hunter2-in-a-comment
          max_requests: 60 # hunter2-in-a-comment
providers:
  demo:
    api_key: sk-live-0123456789abcdef
    type: openai
    base_url: https://demo.test/v1/canary-in-a-path
    models: [small]
`;
  writeFileSync(join(directory, 'all.yaml'), text);
  execFileSync('git', ['init', '-q'], { cwd: top });
  const { files } = await readDirectory(directory);
  const sets = [
    rule('/team', 1),
    rule('/noted', 1),
    rule('/new', 1),
    rule('/blocked', 1, { max_requests: 0, expires_at: '2026-06-02T00:00:00.000Z' }),
  ];
  const plane = await startDriftPlane(t, { files: files.map((file) => ({ ...file, path: file.name })), sets });
  const body = await plane.ask('patch');
  t.same(componentProblems('ConfigPatch', body), []);
  t.match(body, {
    taken: 2,
    files: ['all.yaml', 'manual.yaml'],
    problems: [],
    left_out: [
      { kind: 'rule', why: /block/ },
      { name: 'user_path /noted minute', why: /^line 10 of all.yaml may hold a secret or a comment/ },
    ],
  });
  t.notMatch(JSON.stringify(body), /hunter2|sk-live|canary/);
  const one = await plane.ask(`patch?kind=rule&id=${encodeURIComponent('user_path 60 /new')}`);
  t.match(one, { taken: 1, files: ['manual.yaml'], left_out: [] });
  t.match(await plane.ask('patch?kind=rule&id=x'), { code: 'invalid_query' });
  t.match(await plane.ask('patch?id=x'), { code: 'invalid_query' });

  const options = ['--patch', '--url', plane.address];
  const shown = await exportManaged(options);
  t.match(shown, { code: 0, output: /^# left out: rate limit user_path \/blocked minute: it is a block/ });
  execFileSync('git', ['apply', '--check', '--directory=my config', '-'], { cwd: top, input: `${shown.output}\n` });
  const { output } = await exportManaged([...options, directory]);
  execFileSync('git', ['apply', '-'], { cwd: top, input: `${output}\n` });
  t.equal(
    readFileSync(join(directory, 'all.yaml'), 'utf8'),
    text.replace('max_requests: 60\n', 'max_requests: 9\n').replace('max_requests: 60 #', 'max_requests: 9 #'),
  );
  t.match(await exportManaged([...options, directory]), {
    output: /user_path \/team minute: all.yaml says the same by now[\s\S]*# There is nothing to put into git\.$/,
  });
});
