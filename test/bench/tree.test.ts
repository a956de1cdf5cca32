// The tree of another commit comes and goes without a trace.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import tap from 'tap';
import { ROOT } from './processes.ts';
import { openTree, ownCommit, ownTree } from './tree.ts';

const isClone = existsSync(join(ROOT, '.git'));
const skip = isClone ? false : 'needs a clone of the repository';

void tap.test('a commit becomes a folder that can run, until the end', { skip }, async (t) => {
  const undoing: (() => void)[] = [];
  const { path, name } = openTree('HEAD', (undo) => undoing.push(undo));
  t.equal(name, ownCommit('nothing').commit);
  t.ok(existsSync(join(path, 'proxy/main.ts')) && existsSync(join(path, 'node_modules/undici/package.json')));
  for (const undo of [...undoing, ...undoing]) undo();
  t.notOk(existsSync(path));
  t.notMatch(execFileSync('git', ['worktree', 'list'], { cwd: ROOT, encoding: 'utf8' }), path);
  t.ok(existsSync(join(ROOT, 'node_modules/undici/package.json')), 'what was borrowed is still there');
});

void tap.test('a folder with a tree is taken as it is, and what is neither is refused', { skip }, async (t) => {
  const undo = (): void => {
    t.fail('nothing was made');
  };
  t.same(openTree(ROOT, undo), { path: ROOT, name: ROOT });
  t.equal(ownTree().path, ROOT);
  t.throws(() => openTree('no-such-commit', undo));
});
