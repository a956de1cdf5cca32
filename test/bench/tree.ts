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
  /** Removes what was made for it; may be called again. */
  readonly remove: () => void;
}

/** The tree of a commit, or of a folder that holds one. Throws when there is no such thing. */
export function openTree(commitOrFolder: string): Tree {
  const folder = resolve(commitOrFolder);
  if (existsSync(join(folder, 'proxy', 'main.ts'))) return { path: folder, name: folder, remove: () => {} };
  const commit = git(['rev-parse', '--verify', '--short', `${commitOrFolder}^{commit}`]).trim();
  const parent = mkdtempSync(join(tmpdir(), 'gateway-tree-'));
  const path = join(parent, commit);
  const remove = (): void => {
    if (existsSync(path)) git(['worktree', 'remove', '--force', path]);
    rmSync(parent, { recursive: true, force: true });
  };
  try {
    git(['worktree', 'add', '--detach', '--quiet', path, commit]);
    if (!existsSync(join(path, 'proxy', 'main.ts'))) throw new Error(`${commit} has no proxy/main.ts`);
    symlinkSync(join(ROOT, 'node_modules'), join(path, 'node_modules'));
  } catch (error) {
    remove();
    throw error;
  }
  return { path, name: commit, remove };
}

/** The commit the bench itself runs on, and whether files were changed since. */
export function ownCommit(): { commit: string; dirty: boolean } {
  return { commit: git(['rev-parse', '--short', 'HEAD']).trim(), dirty: git(['status', '--porcelain', '-uno']) !== '' };
}

function git(args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
