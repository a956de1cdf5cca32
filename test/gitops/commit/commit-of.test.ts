// The commit of a configuration directory, read from real repositories of every shape, and from what only looks like one.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { commitOf } from '../../../gitops/commit/commit-of.ts';
import { temporaryDirectory } from '../../support/teardown.ts';

const at = '2026-03-31T10:00:00Z';
const who = { GIT_AUTHOR_NAME: 'Zoë Ng', GIT_AUTHOR_EMAIL: 'zoe@example.com', GIT_COMMITTER_NAME: 'CI' };
const env = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_COMMITTER_EMAIL: 'ci@example.com',
  GIT_AUTHOR_DATE: at,
  GIT_COMMITTER_DATE: '2026-04-01T10:00:00Z',
  ...who,
};
const git = (directory: string, ...args: string[]): string =>
  execFileSync('git', ['-C', directory, ...args], { env, encoding: 'utf8' }).trim();

const packOf = (top: string): string =>
  readdirSync(join(top, '.git/objects/pack')).find((name) => name.endsWith('.idx')) ?? '';

interface Checkout {
  readonly top: string;
  readonly config: string;
  readonly commit: string;
}

function commitFile(top: string, text: string, subject: string): string {
  writeFileSync(join(top, 'team/config/gateway.yaml'), text);
  git(top, 'add', '.');
  git(top, 'commit', '-qm', subject);
  return git(top, 'rev-parse', 'HEAD');
}

function checkout(t: Test, ...init: string[]): Checkout {
  const top = temporaryDirectory(t, 'gateway-git');
  git(top, 'init', '-qb', 'main', ...init);
  const config = join(top, 'team/config');
  mkdirSync(config, { recursive: true });
  return { top, config, commit: commitFile(top, '{}', 'raise the limits of /team-a\n\nbecause of the launch') };
}

const facts = { author: 'Zoë Ng', authored_ms: Date.parse(at), subject: 'raise the limits of /team-a' };

await test('a branch, a detached HEAD, packed refs and packed objects', async (t) => {
  const { top, config, commit } = checkout(t);
  t.same(await commitOf(config), { commit, ...facts }, 'a branch, loose');
  git(top, 'checkout', '-q', '--detach');
  t.same(await commitOf(config), { commit, ...facts }, 'detached');
  git(top, 'checkout', '-q', 'main');
  const before = Array.from({ length: 6 }, (_, index) => {
    // Long messages that hardly differ, so that git keeps most of them as deltas.
    return commitFile(top, `{} # ${index}`, `number ${index}\n\n${'a long story of limits and budgets, '.repeat(60)}`);
  });
  git(top, 'gc', '-q', '--prune=now');
  t.match(await commitOf(config), { commit: before.at(-1) }, 'packed refs');
  t.match(
    git(top, 'verify-pack', '-v', join(top, '.git/objects/pack', packOf(top))),
    /^\w+ commit +\d+ \d+ \d+ [1-9]/m,
    'deltas',
  );
  for (const [index, each] of before.entries()) {
    writeFileSync(join(top, '.git/HEAD'), `${each}\n`);
    t.match(await commitOf(config), { commit: each, author: 'Zoë Ng', subject: `number ${index}` });
  }
});

await test('a working tree of its own, as git-sync makes it, also where it is mounted at another path', async (t) => {
  const { top, commit } = checkout(t);
  const tree = join(top, '.worktrees', commit);
  git(top, 'worktree', 'add', '-q', '--detach', tree, commit);
  const next = commitFile(top, '{} # next', 'next');
  symlinkSync(join('.worktrees', commit), join(top, 'current'));
  t.same(await commitOf(join(top, 'current/team/config')), { commit, ...facts });
  const elsewhere = join(temporaryDirectory(t, 'gateway-mount'), 'mounted');
  renameSync(top, elsewhere);
  t.same(await commitOf(join(elsewhere, 'current/team/config')), { commit, ...facts }, 'its .git names no path here');
  t.match(await commitOf(join(elsewhere, 'team/config')), { commit: next });
  mkdirSync(top);
});

await test('a shallow clone, and objects named by SHA-256', async (t) => {
  const { top, commit } = checkout(t);
  const clone = temporaryDirectory(t, 'gateway-clone');
  execFileSync('git', ['clone', '-q', '--depth', '1', `file://${top}`, clone], { env });
  t.same(await commitOf(join(clone, 'team/config')), { commit, ...facts });
  const long = checkout(t, '--object-format=sha256');
  git(long.top, 'gc', '-q');
  t.same(await commitOf(long.config), { commit: long.commit, ...facts });
  t.equal(long.commit.length, 64);
});

await test('nothing of a subject steers a terminal, or is a key, and another encoding is read', async (t) => {
  const { top, config } = checkout(t);
  const key = `sk-proj-${'a1B2'.repeat(12)}`;
  commitFile(top, '{} #', `\u001b[31m<script>alert(1)</script>\u202e ${key} ${'x'.repeat(500)}`);
  const { subject = '' } = (await commitOf(config)) ?? {};
  t.match(subject, /^\[31m<script>alert\(1\)<\/script> \[REDACTED\] x/);
  t.ok(subject.length <= 200);
  git(
    top,
    '-c',
    'i18n.commitEncoding=latin1',
    'commit',
    '-q',
    '--amend',
    '-m',
    'plain',
    '--author',
    'x <x@example.com>',
  );
  t.match(await commitOf(config), { subject: 'plain', author: 'x' });
});

await test('without a repository, or with what only looks like one, nothing is said, and nothing waits', async (t) => {
  const config = temporaryDirectory(t, 'gateway-plain');
  const dotGit = join(config, '.git');
  t.equal(await commitOf(config), undefined, 'no repository');
  t.equal(await commitOf(join(config, 'none')), undefined, 'no directory');
  for (const pointer of ['/etc', '/etc/passwd', '../../../..', '.git', '/proc/self/fd', '\0', 'x'.repeat(100_000)]) {
    writeFileSync(dotGit, `gitdir: ${pointer}\n`);
    t.equal(await commitOf(config), undefined, pointer.slice(0, 20));
  }
  rmSync(dotGit);
  for (const part of ['objects/pack', 'refs/heads']) mkdirSync(join(dotGit, part), { recursive: true });
  t.equal(await commitOf(config), undefined, 'no HEAD');
  for (const head of ['ref: refs/../../secret.yaml', 'ref: refs/heads/loop', 'password: hunter2', 'f'.repeat(41)]) {
    writeFileSync(join(dotGit, 'HEAD'), head);
    writeFileSync(join(dotGit, 'refs/heads/loop'), 'ref: refs/heads/loop');
    t.equal(await commitOf(config), undefined, head);
  }
  const commit = 'a'.repeat(40);
  writeFileSync(join(dotGit, 'HEAD'), 'ref: refs/heads/main');
  writeFileSync(
    join(dotGit, 'packed-refs'),
    `${`${'b'.repeat(40)} refs/heads/x\n`.repeat(200_000)}${commit} refs/heads/main\n`,
  );
  t.equal(await commitOf(config), undefined, 'refs of more than 8 MiB');
  writeFileSync(join(dotGit, 'packed-refs'), `${commit} refs/heads/main\n`);
  t.same(await commitOf(config), { commit }, 'no objects');
  execFileSync('mkfifo', [join(dotGit, 'objects/pack/pack-1.idx')]);
  t.same(await commitOf(config), { commit }, 'a pipe for an index');
});

await test('a damaged pack ends in a commit without an author', async (t) => {
  const { top, config, commit } = checkout(t);
  git(top, 'gc', '-q');
  const pack = join(top, '.git/objects/pack', packOf(top).replace('.idx', '.pack'));
  rmSync(pack, { force: true });
  writeFileSync(pack, Buffer.alloc(4_096, 0xff));
  t.same(await commitOf(config), { commit });
});
