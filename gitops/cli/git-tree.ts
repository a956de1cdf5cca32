// Reads a configuration directory as it was at a commit of its git repository. Never uses the network, a shell or the index of the repository.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Variables } from '../../schemas/variables.ts';
import { type Reading, readDirectory } from '../read/read.ts';

const run = promisify(execFile);
const patienceMs = 60_000;
/** Of one command of git, a line for each file of the directory. Bytes. */
const mostOutput = 64 * 1024 * 1024;

/** Variables that a calling hook may have set: here they would name another repository or index. */
const ofCaller = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX', 'GIT_OBJECT_DIRECTORY', 'GIT_COMMON_DIR'];
const offline = { GIT_NO_LAZY_FETCH: '1', GIT_TERMINAL_PROMPT: '0', GIT_LFS_SKIP_SMUDGE: '1' };
/** No hook runs, and every file of the commit is written. */
const settings = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'core.sparseCheckout=false'];

export type CommitReading = { reading: Reading; problem?: undefined } | { reading?: undefined; problem: string };

/** What a command of git prints; rejects when it fails. `index`: a file in place of the index of the repository. */
export type Git = (cwd: string, args: readonly string[], index?: string) => Promise<string>;

/** Git without network, hooks and what a calling hook may have set. */
export function gitOf(environment: Variables): Git {
  const env: Record<string, string | undefined> = { ...environment, ...offline };
  for (const name of ofCaller) env[name] = undefined;
  return async (cwd, args, index) => {
    const given = index === undefined ? env : { ...env, GIT_INDEX_FILE: index };
    const { stdout } = await run('git', [...settings, ...args], {
      cwd,
      env: given,
      timeout: patienceMs,
      maxBuffer: mostOutput,
    });
    return stdout;
  };
}

/**
 * The files of `directory` at `ref`: a branch, a tag or a commit. A directory that the commit does not have gives no files and no
 * problems. Paths for messages begin with `ref:`. `problem` ends a sentence about `ref`; never rejects.
 */
export async function readAtCommit(directory: string, ref: string, environment: Variables): Promise<CommitReading> {
  const git = gitOf(environment);
  // A ref cannot begin with a hyphen; git would read it as an option.
  if (ref.startsWith('-') || ref.includes('\0')) return { problem: notACommit };
  let folder: string | undefined;
  try {
    const [top = '', prefix = ''] = (await git(directory, ['rev-parse', '--show-toplevel', '--show-prefix'])).split(
      '\n',
    );
    const commit = await idOf(`${ref}^{commit}`, top);
    if (commit === undefined) return { problem: notACommit };
    const path = prefix.replace(/\/$/, '');
    const tree = await idOf(`${commit}:${path}`, top);
    if (tree === undefined || (await git(top, ['cat-file', '-t', tree])).trim() !== 'tree')
      return { reading: { files: [], problems: [], hash: '' } };
    folder = await mkdtemp(join(tmpdir(), 'gateway-check-'));
    const index = join(folder, 'index');
    // A link may lead to anywhere in the repository.
    const hasLinks = /^120000 /m.test(await git(top, ['ls-tree', '-r', tree]));
    await git(top, ['read-tree', hasLinks ? commit : tree], index);
    await git(top, ['checkout-index', '--all', `--prefix=${folder}/tree/`], index);
    const place = join(folder, 'tree', hasLinks ? path : '');
    return { reading: await readDirectory(place, `${ref}:${path === '' ? '.' : path}`) };
  } catch (error) {
    return { problem: `cannot be read with git: ${sayFailure(error)}` };
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }

  async function idOf(name: string, top: string): Promise<string | undefined> {
    const found = await git(top, ['rev-parse', '--verify', '--quiet', name]).catch(() => '');
    return found.trim() || undefined;
  }
}

const notACommit =
  'is neither a directory nor a commit, branch or tag of the repository of the configuration; a checkout in CI may have to fetch it first';

/** The first line of what git said. */
function sayFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const said = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr : '';
  const [first = ''] = said.trim().split('\n');
  return first === '' ? error.message : first;
}
