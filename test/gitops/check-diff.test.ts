// `check-config --diff`: what changed since another directory or a commit of a real git repository.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Test, test } from 'tap';
import { checkConfig } from '../../gitops/cli/check-directory.ts';

const path = { PATH: process.env['PATH'] ?? '' };
const rule = (cap: number): string =>
  `rate_limits: { user_paths: [{ path: /team-a, limits: [{ period: minute, max_requests: ${cap} }] }] }\n`;

/** A folder with files, and git in it. */
function folder(t: Test, files: Record<string, string>) {
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'gateway-diff-')));
  t.teardown(() => rmSync(top, { recursive: true, force: true }));
  const write = (given: Record<string, string>): void => {
    for (const [name, text] of Object.entries(given)) {
      mkdirSync(dirname(join(top, name)), { recursive: true });
      writeFileSync(join(top, name), text);
    }
  };
  const git = (...args: string[]): void => {
    const env = { ...path, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
      cwd: top,
      env,
      stdio: 'ignore',
    });
  };
  write(files);
  return { top, write, git };
}

function repository(t: Test) {
  const made = folder(t, {
    'config/base.yaml': 'server: { body_limit: 8MiB }\n',
    'config/teams/a/limits.yaml': rule(60),
  });
  made.git('init', '-b', 'main');
  made.git('add', '-A');
  made.git('commit', '-m', 'first');
  return made;
}

await test('a loosened limit is named, since a branch, a commit, a tag or a directory', async (t) => {
  const { top, write, git } = repository(t);
  git('tag', 'v1');
  write({ 'config/teams/a/limits.yaml': rule(600), 'before/a.yaml': `${rule(60)}server: { body_limit: 8MiB }\n` });
  for (const against of ['main', 'HEAD', 'v1', join(top, 'before')]) {
    const { output, code } = await checkConfig([join(top, 'config'), '--diff', against], path);
    t.equal(code, 0, 'a change alone fails nothing');
    t.match(
      output.split('\n'),
      [
        `compared with ${against}:`,
        '  loosened: rule user_path /team-a minute: max_requests 60 → 600',
        /: ok, 2 files, revision/,
      ],
      against,
    );
  }
  const { diff } = JSON.parse(
    (await checkConfig([join(top, 'config'), '--diff', 'main', '--format', 'json'], path)).output,
  );
  t.strictSame(diff, {
    against: 'main',
    changes: [
      {
        kind: 'rule',
        name: 'user_path /team-a minute',
        change: 'loosened',
        before: { max_requests: 60, mode: 'enforce' },
        after: { max_requests: 600, mode: 'enforce' },
        effect: 'loosened',
        words: 'loosened: rule user_path /team-a minute: max_requests 60 → 600',
      },
    ],
  });
  const github = await checkConfig([join(top, 'config'), '--diff', 'main', '--format', 'github'], path);
  t.match(github.output, /^::notice title=Loosened since main::loosened: rule user_path \/team-a minute/m);
  t.doesNotThrow(() => git('diff', '--cached', '--quiet'), 'the index is as it was');
});

await test('a hook that set variables of git changes nothing, and no hook runs', async (t) => {
  const { top, write } = repository(t);
  write({
    '.git/hooks/post-index-change': '#!/bin/sh\ntouch "$(dirname "$0")/ran"\n',
    'config/teams/a/limits.yaml': rule(6),
  });
  execFileSync('chmod', ['+x', join(top, '.git/hooks/post-index-change')]);
  const variables = { ...path, GIT_DIR: '/nowhere', GIT_INDEX_FILE: '.git/other', GIT_WORK_TREE: '/nowhere' };
  const { output } = await checkConfig([join(top, 'config'), '--diff', 'main'], variables);
  t.match(output, /tightened: rule user_path \/team-a minute: max_requests 60 → 6/);
  t.notOk(existsSync(join(top, '.git/hooks/ran')));
});

await test('what is not there yet is all new, what is broken there is said and fails nothing', async (t) => {
  const { top, write, git } = repository(t);
  write({ 'other/a.yaml': rule(5) });
  t.match(await checkConfig([join(top, 'other'), '--diff', 'main'], path), {
    code: 0,
    output: /\n {2}added \(tightened\): rule user_path \/team-a minute: max_requests 5\n/,
  });
  write({ 'config/teams/a/limits.yaml': 'rate_limits: [\n' });
  git('commit', '-am', 'broken');
  write({ 'config/teams/a/limits.yaml': rule(60) });
  t.match(await checkConfig([join(top, 'config'), '--diff', 'main', '--strict'], path), {
    code: 0,
    output: /compared with main: main has problems itself, .* the first: main:config\/teams\/a\/limits\.yaml:/,
  });
  write({ 'config/teams/a/limits.yaml': 'rate_limits: [\n' });
  t.match(await checkConfig([join(top, 'config'), '--diff', 'v0'], path), { code: 2 });
  t.match(await checkConfig([join(top, 'config'), '--diff', 'main'], path), {
    code: 1,
    output: /compared with main: nothing is compared before all problems are corrected/,
  });
  t.match(await checkConfig([join(top, 'none'), '--diff', 'main'], path), { code: 1, output: /does not exist/ });
});

await test('a hostile name is only a name', async (t) => {
  const { top } = repository(t);
  const mark = join(top, 'mark');
  for (const name of [`--output=${mark}`, `main;touch ${mark}`, `$(touch ${mark})`, 'main:config', 'a\0b', ':/first']) {
    const { code, output } = await checkConfig([join(top, 'config'), `--diff=${name}`], path);
    t.match({ code, output }, { code: 2, output: /^--diff: ".*" is neither a directory nor a commit/ }, name);
  }
  t.notOk(existsSync(mark));
  t.match(await checkConfig([join(top, 'config'), '--diff='], path), { code: 2, output: /^--diff needs a value/ });
  const { top: plain } = folder(t, { 'a.yaml': '{}' });
  t.match(await checkConfig([plain, '--diff', 'main'], { ...path, GIT_CEILING_DIRECTORIES: dirname(plain) }), {
    code: 2,
    output: /^--diff: "main" cannot be read with git: .*not a git repository/,
  });
});

await test('what a link of the commit leads to is compared, too', async (t) => {
  const { top, write, git } = folder(t, { 'config/base.yaml': '{}\n', 'shared/limits.yaml': rule(60) });
  symlinkSync('../shared', join(top, 'config/linked'));
  git('init', '-b', 'main');
  git('add', '-A');
  git('commit', '-m', 'first');
  const words = async (): Promise<string> => (await checkConfig([join(top, 'config'), '--diff', 'main'], path)).output;
  t.match(await words(), /^compared with main: nothing changed$/m);
  write({ 'shared/limits.yaml': rule(600) });
  t.match(await words(), /^ {2}loosened: rule user_path \/team-a minute: max_requests 60 → 600$/m);
});
