// The files of another commit beside those of this one: a temporary git worktree that borrows the installed packages.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ROOT } from './processes.ts';

/** A tree of this repository on disk. */
export interface Tree {
  readonly path: string;
  /** The short commit, or the folder it was given as. */
  readonly name: string;
}

/** The tree of a commit, or of a folder that holds one; `atEnd` receives what removes it. Throws when there is none. */
export function openTree(commitOrFolder: string, atEnd: (undo: () => void) => void): Tree {
  const folder = resolve(commitOrFolder);
  if (existsSync(join(folder, 'proxy', 'main.ts'))) return { path: folder, name: folder };
  const commit = git(['rev-parse', '--verify', '--short', `${commitOrFolder}^{commit}`]).trim();
  const parent = mkdtempSync(join(tmpdir(), 'gateway-tree-'));
  const path = join(parent, commit);
  const remove = (): void => {
    if (existsSync(path)) git(['worktree', 'remove', '--force', path]);
    rmSync(parent, { recursive: true, force: true });
  };
  atEnd(remove);
  git(['worktree', 'add', '--detach', '--quiet', path, commit]);
  if (!existsSync(join(path, 'proxy', 'main.ts'))) throw new Error(`${commit} has no proxy/main.ts`);
  symlinkSync(join(ROOT, 'node_modules'), join(path, 'node_modules'));
  return { path, name: commit };
}

/** The tree the bench belongs to. */
export function ownTree(): Tree {
  return { path: ROOT, name: 'now' };
}

/** The commit the bench itself runs on, and whether files were changed since; `ignored` is a path from the top. */
export function ownCommit(ignored: string): { commit: string; dirty: boolean } {
  const changed = git(['status', '--porcelain', '--untracked-files=no', '--', '.', `:!${ignored}`]);
  return { commit: git(['rev-parse', '--short', 'HEAD']).trim(), dirty: changed !== '' };
}

function git(args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
