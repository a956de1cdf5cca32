// The config repository of several teams, as a real git repository: what its workflow runs before a merge, and what that says.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Test, test } from 'tap';
import { parse } from 'yaml';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';

const top = join(import.meta.dirname, '../..');
const example = join(top, 'examples/gitops-repo');
const workflow = parse(readFileSync(join(example, '.github/workflows/check.yml'), 'utf8')) as {
  jobs: { config: { steps: { name?: string; run?: string }[] } };
};
const stepOf = (wanted: string): string =>
  workflow.jobs.config.steps.find(({ name }) => name === wanted)?.run?.trim() ?? '';
const command = stepOf('check the configuration');
const planned = stepOf('plan the change');
const env = {
  PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  NODE_COMPILE_CACHE: join(top, 'node_modules/.cache/compile'),
};

/** A clone of the example, on a branch, with the gateway where the workflow puts it. `edit` replaces text in a file of `config/`. */
function clone(t: Teardown) {
  const folder = temporaryDirectory(t, 'gitops-repo');
  const [origin, work] = [join(folder, 'origin'), join(folder, 'work')];
  const git = (cwd: string, ...args: string[]): void => {
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
      cwd,
      env,
      stdio: 'ignore',
    });
  };
  cpSync(example, origin, { recursive: true });
  git(origin, 'init', '-b', 'main');
  git(origin, 'add', '-A');
  git(origin, 'commit', '-m', 'main');
  git(folder, 'clone', origin, work);
  git(work, 'checkout', '-b', 'change');
  symlinkSync(top, join(work, '.gateway'));
  const edit = (file: string, from: string, to: string): void => {
    const path = join(work, 'config', file);
    const text = readFileSync(path, 'utf8');
    if (!text.includes(from)) throw new Error(`${file} does not hold ${from}`);
    writeFileSync(path, text.replace(from, to));
    git(work, 'commit', '-am', to);
  };
  const run = (text: string): { status: number | null; stdout: string } =>
    spawnSync('sh', ['-c', text], { cwd: work, env, encoding: 'utf8', timeout: 20_000 });
  return { edit, run };
}

const matches = (
  t: Test,
  { status, stdout }: ReturnType<ReturnType<typeof clone>['run']>,
  code: number,
  said: RegExp,
) => t.match({ status, stdout }, { status: code, stdout: said });

await test('a loosened limit is named, and a phantom rule fails the gate', async (t) => {
  t.match(command, /check\.ts config --strict --diff origin\/main --format github$/, 'what the workflow runs');
  const { edit, run } = clone(t);
  edit('teams/a/limits.yaml', 'max_requests: 40', 'max_requests: 50');
  matches(
    t,
    run(command),
    0,
    /^::notice title=Loosened since origin\/main::loosened: rule user_path \/squad-a\/app minute: max_requests 40 → 50$/m,
  );

  edit('platform/limits.yaml', 'model: demo-large', 'model: demo-larg');
  const phantom = run(command);
  matches(t, phantom, 1, /^::error file=config\/platform\/limits\.yaml,line=33,col=14::.*no provider lists the model/m);
  t.match(phantom.stdout, 'Loosened since origin/main', 'the change is named all the same');
});

await test('the plan names whom a tightened limit hits, and fails above one request in a hundred', async (t) => {
  const { edit, run } = clone(t);
  const plan = () => run(`${planned}; code=$?; cat plan.md; exit $code`);
  edit('teams/a/limits.yaml', 'max_requests: 40', 'max_requests: 50');
  matches(t, plan(), 0, /no request would be refused that is not refused now/);
  edit('teams/a/limits.yaml', 'max_requests: 50', 'max_requests: 12');
  matches(t, plan(), 1, /^> \*\*failed: refusals .*\n[\s\S]*all in \/squad-a\/app \| 2026-11-02 09:03:00 UTC/);
  const gitlab = parse(readFileSync(join(example, '.gitlab-ci.yml'), 'utf8')) as { check: { script: string[] } };
  for (const [theirs, ours] of [
    [gitlab.check.script[0], command.replace(' --format github', '')],
    [gitlab.check.script[1]?.replace(' | tee', ' >'), planned],
  ])
    t.equal(theirs?.replace('"origin/$CI_MERGE_REQUEST_TARGET_BRANCH_NAME"', 'origin/main').trim(), ours?.trim());
});

await test('one team cannot take the limit of another, or more than its own', async (t) => {
  const { edit, run } = clone(t);
  edit('teams/b/limits.yaml', 'path: /squad-b/nightly', 'path: /squad-a');
  matches(
    t,
    run(command),
    1,
    /^::error file=config\/teams\/b\/limits\.yaml,line=5,col=13::.*"\/squad-a" has limits in config\/platform\/limits\.yaml:11:13 already/m,
  );
  edit('teams/b/limits.yaml', 'path: /squad-a', 'path: /squad-a/other');
  matches(
    t,
    run(command),
    1,
    /^::error file=config\/teams\/b\/limits\.yaml,.*"?\/squad-a\/other belongs to another team .*policy teams-keep-to-their-paths/m,
  );
  edit('teams/b/limits.yaml', 'path: /squad-a/other', 'path: /squad-b/nightly');
  edit('teams/a/limits.yaml', 'max_requests: 40', 'max_requests: 80');
  matches(t, run(command), 1, /^::error file=config\/teams\/a\/limits\.yaml,.*above the 60 of "\/squad-a"/m);
});
