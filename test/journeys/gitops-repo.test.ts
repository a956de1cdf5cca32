// The config repository of several teams, as a real git repository: what its pipeline runs on a pull request, for GitHub and for GitLab, and what the
// people in it read. docs/pipeline.md shows the comments of these pull requests; UPDATE=1 writes them there.
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'tap';
import { parse } from 'yaml';
import { pagePullRequests, writePullRequests } from '../support/pull-requests.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';

const top = join(import.meta.dirname, '../..');
const example = join(top, 'examples/gitops-repo');
const readYaml = (file: string): unknown => parse(readFileSync(join(example, file), 'utf8'));

interface Step {
  readonly name?: string;
  readonly run?: string;
  readonly uses?: string;
  readonly env?: Readonly<Record<string, string>>;
}
const action = readYaml('.github/actions/review/action.yml') as { runs: { steps: Step[] } };
const workflow = readYaml('.github/workflows/check.yml') as { jobs: { config: { steps: Step[] } } };
const gitlab = readYaml('.gitlab-ci.yml') as Record<'review' | 'drift', { script: string[]; after_script?: string[] }>;
const stepOf = (wanted: string): string => action.runs.steps.find(({ name }) => name === wanted)?.run ?? '';

const env = {
  PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  NODE_COMPILE_CACHE: join(top, 'node_modules/.cache/compile'),
  AGAINST: 'origin/main',
};
const started = promisify(execFile);

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

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
    git(work, 'commit', '-am', to.slice(0, 60));
  };
  /** Runs a step as a runner does. */
  const run = async (step: string, more = {}): Promise<Ran> =>
    started('sh', ['-e', '-c', step], { cwd: work, env: { ...env, ...more }, encoding: 'utf8', timeout: 60_000 }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: Ran) => ({ code, stdout, stderr }),
    );
  const comment = (): string => readFileSync(join(work, 'comment.md'), 'utf8').trimEnd();
  return { edit, run, comment, work };
}

const page = pagePullRequests();

/** The pull requests of docs/pipeline.md, by their headings there. */
const pullRequests: readonly {
  readonly title: string;
  readonly change: readonly [file: string, from: string, to: string];
  readonly code: 0 | 1;
  /** A line beside the files of the pull request. */
  readonly annotation: RegExp;
}[] = [
  {
    title: 'A mistake',
    change: ['teams/a/limits.yaml', 'max_requests: 40', 'max_request: 40'],
    code: 1,
    annotation: /^::error file=config\/teams\/a\/limits\.yaml,line=8,col=11::.*unknown key "max_request"/m,
  },
  {
    title: 'A limit that is tightened',
    change: ['teams/c/team.yaml', 'max_tokens: 1000000', 'max_tokens: 900000'],
    code: 0,
    annotation: /^::notice title=Changed since origin\/main::tightened: rule user_path \/squad-c\/search day/m,
  },
  {
    title: 'A limit that would refuse requests of Monday',
    change: ['platform/limits.yaml', 'max_requests: 300', 'max_requests: 6'],
    code: 1,
    annotation: /^::notice title=Changed since origin\/main::tightened: rule user_path \/squad-b minute/m,
  },
  {
    title: 'A test that fails',
    change: ['teams/a/limits.yaml', 'max_requests: 40', 'max_requests: 50'],
    code: 1,
    annotation: /^::error file=config\/teams\/a\/limits\.test\.yaml,line=\d+,col=\d+::/m,
  },
  {
    title: 'A policy that is broken',
    change: ['teams/b/limits.yaml', 'path: /squad-b/nightly\n      limits', 'path: /squad-a/other\n      limits'],
    code: 1,
    annotation: /^::error file=config\/teams\/b\/limits\.yaml,line=5,.*policy teams-keep-to-their-paths/m,
  },
];

for (const { title, change, code, annotation } of pullRequests) {
  await test(`a pull request: ${title}`, async (t) => {
    const { edit, run, comment } = clone(t);
    edit(...change);
    const [annotated, reviewed] = await Promise.all([run(stepOf('annotate')), run(stepOf('review'))]);
    t.match(annotated, { code: 0, stdout: annotation });
    t.equal(reviewed.code, code);
    t.equal(comment(), reviewed.stdout.trimEnd(), 'the log has it, too');
    if (process.env['UPDATE'] === '1') writePullRequests({ [title]: comment() });
    else t.equal(page.get(title), comment(), 'docs/pipeline.md shows it: UPDATE=1 writes it');
  });
}

await test('a loosened limit is named, and a phantom rule fails the review', async (t) => {
  const { edit, run } = clone(t);
  edit('teams/b/limits.yaml', 'max_requests: 5', 'max_requests: 6');
  t.match(await run(stepOf('annotate')), {
    stdout: /^::notice title=Loosened since origin\/main::loosened: rule user_path \/squad-b\/nightly concurrent/m,
  });
  edit('platform/limits.yaml', 'model: demo-large', 'model: demo-larg');
  const { stdout } = await run(stepOf('annotate'));
  t.match(stdout, /^::error file=config\/platform\/limits\.yaml,line=33,col=14::.*no provider lists the model/m);
  t.match(stdout, 'Loosened since origin/main', 'the change is named all the same');
});

await test('one team cannot take the limit of another, or more than its own', async (t) => {
  const { edit, run } = clone(t);
  edit('teams/b/limits.yaml', 'path: /squad-b/nightly', 'path: /squad-a');
  edit('teams/a/limits.yaml', 'max_requests: 40', 'max_requests: 80');
  const { stdout } = await run(stepOf('annotate'));
  t.match(
    stdout,
    /^::error file=config\/teams\/b\/limits\.yaml,line=5,col=13::.*"\/squad-a" has limits in config\/platform\/limits\.yaml:11:13 already/m,
  );
  edit('teams/b/limits.yaml', 'path: /squad-a', 'path: /squad-b/nightly');
  t.match(await run(stepOf('annotate')), {
    stdout: /^::error file=config\/teams\/a\/limits\.yaml,.*above the 60 of "\/squad-a"/m,
  });
});

await test('GitHub and GitLab run the same review', (t) => {
  t.equal(workflow.jobs.config.steps.at(-1)?.uses, './.github/actions/review');
  t.equal(stepOf('review'), 'ci/review.sh "$AGAINST"');
  t.match(gitlab.review.script, ['ci/review.sh "origin/$CI_MERGE_REQUEST_TARGET_BRANCH_NAME"']);
  t.match(gitlab.review.after_script?.[0], 'node ci/comment.ts');
  t.match(stepOf('comment'), 'node ci/comment.ts');
  t.match(gitlab.drift.script, ['ci/drift.sh']);
  for (const { uses } of [...action.runs.steps, ...workflow.jobs.config.steps])
    if (uses?.startsWith('./') === true) t.ok(existsSync(join(example, uses, 'action.yml')), uses);
  t.end();
});

await test('one comment of a pull request is written, and replaced by the next run', async (t) => {
  const { run, work } = clone(t);
  const marker = '<!-- review of the gateway configuration -->';
  const comments = [{ id: 7, body: `${marker}\nof a person`, user: { type: 'User' } }];
  const asked: string[] = [];
  let isAllowed = true;
  const server = createServer((request, response) => void answer(request, response));
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = (await request.toArray()).join('');
    asked.push(`${request.method} ${request.url?.split('?')[0]}`);
    const id = Number(request.url?.split('/').at(-1));
    if (!isAllowed) response.writeHead(403);
    else if (request.method === 'POST')
      comments.push({ id: 8, body: JSON.parse(text).body as string, user: { type: 'Bot' } });
    else if (request.method !== 'GET')
      for (const each of comments) if (each.id === id) each.body = JSON.parse(text).body as string;
    response.end(JSON.stringify(comments));
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const places = {
    github: {
      GITHUB_API_URL: origin,
      GITHUB_REPOSITORY: 'o/r',
      PULL_REQUEST: '3',
      GITHUB_TOKEN: 'x',
      GITHUB_STEP_SUMMARY: '/dev/null',
    },
    gitlab: {
      GITLAB_CI: 'true',
      CI_API_V4_URL: origin,
      CI_PROJECT_ID: '1',
      CI_MERGE_REQUEST_IID: '3',
      GITLAB_TOKEN: 'x',
    },
  };
  const ofGitlab = gitlab.review.after_script?.[0] ?? '';
  const say = async (text: string, place: object, step = stepOf('comment')): Promise<Ran> => {
    writeFileSync(join(work, 'comment.md'), `${marker}\n${text}`);
    return run(step, place);
  };
  await say('first', places.github);
  await say('second', places.github);
  t.strictSame(
    comments.map(({ body }) => body),
    [`${marker}\nof a person`, `${marker}\nsecond`],
  );
  comments.splice(0);
  await say('first', places.gitlab, ofGitlab);
  await say('second', places.gitlab, ofGitlab);
  t.strictSame(asked, [
    'GET /repos/o/r/issues/3/comments',
    'POST /repos/o/r/issues/3/comments',
    'GET /repos/o/r/issues/3/comments',
    'PATCH /repos/o/r/issues/comments/8',
    'GET /projects/1/merge_requests/3/notes',
    'POST /projects/1/merge_requests/3/notes',
    'GET /projects/1/merge_requests/3/notes',
    'PUT /projects/1/merge_requests/3/notes/8',
  ]);
  isAllowed = false;
  t.match(await say('third', places.github), { code: 0, stdout: /^no comment: GET .*: 403/m }, 'a fork has no right');
});

await test('the nightly comparison asks the gateway, and fails when it does not answer', async (t) => {
  const { run } = clone(t);
  const [script = ''] = gitlab.drift.script;
  const { code, stderr } = await run(script, { GATEWAY_URL: 'http://127.0.0.1:1', GATEWAY_MASTER_KEY: 'k' });
  t.match({ code, stderr }, { code: 1, stderr: /127\.0\.0\.1:1 does not answer/ });
});
