// Finds the git repository of a directory and the commit that is checked out, by reading files: git need not be installed, and nothing that a
// repository says is run. What is read is bounded, and only the digits of a commit come out of it.
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { readRegular } from '../read/read.ts';

export interface Repository {
  /** Of this working tree: holds HEAD. */
  readonly gitDirectory: string;
  /** Of the whole repository: holds objects and refs. */
  readonly common: string;
}

/** Directories above the configuration in which `.git` is looked for, and refs that lead to refs. */
const mostLevels = 32;
const mostRefs = 5;
/** Of HEAD and other small files. Bytes. */
const longestSmall = 4_096;

const commitShape = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** The repository around a directory, symbolic links followed; undefined: there is none that can be read. */
export async function findRepository(directory: string): Promise<Repository | undefined> {
  let top = await realpath(directory);
  for (let level = 0; level < mostLevels; level += 1) {
    const place = join(top, '.git');
    const found = await lstat(place).catch(() => undefined);
    if (found?.isDirectory() === true && (await isRepository(place))) return { gitDirectory: place, common: place };
    if (found?.isFile() === true) return repositoryOfTree(top, await smallText(place));
    const above = dirname(top);
    if (above === top) return undefined;
    top = above;
  }
  return undefined;
}

/** Of a working tree whose `.git` is a file, such as those of git-sync, which may lie at another path here than where it was written. */
async function repositoryOfTree(top: string, text: string): Promise<Repository | undefined> {
  const [, said] = /^gitdir: (.+)$/m.exec(text) ?? [];
  if (said === undefined) return undefined;
  const places = [isAbsolute(said) ? said : resolve(top, said)];
  for (let above = top, level = 0; level < mostLevels && above !== dirname(above); level += 1) {
    above = dirname(above);
    places.push(join(above, '.git', 'worktrees', basename(said)));
  }
  for (const gitDirectory of places) {
    const common = (await smallText(join(gitDirectory, 'commondir'))).trim();
    const whole = common === '' ? gitDirectory : resolve(gitDirectory, common);
    if (await isRepository(whole)) return { gitDirectory, common: whole };
  }
  return undefined;
}

async function isRepository(place: string): Promise<boolean> {
  const isDirectory = async (name: string): Promise<boolean> =>
    lstat(join(place, name)).then(
      (found) => found.isDirectory(),
      () => false,
    );
  return (await isDirectory('objects')) && (await isDirectory('refs'));
}

/** The commit that is checked out, in hex; undefined: there is none yet. */
export async function checkedOut({ gitDirectory, common }: Repository): Promise<string | undefined> {
  let name = 'HEAD';
  for (let step = 0; step < mostRefs; step += 1) {
    const own = await smallText(join(gitDirectory, name));
    const text = (own === '' ? await smallText(join(common, name)) : own).trim();
    if (commitShape.test(text)) return text;
    const [, next] = /^ref: (refs\/\S+)$/.exec(text) ?? [];
    if (next === undefined) return step === 0 ? undefined : packedRef(common, name);
    if (next.split('/').includes('..')) return undefined;
    name = next;
  }
  return undefined;
}

async function packedRef(common: string, name: string): Promise<string | undefined> {
  const packed = await readRegular(join(common, 'packed-refs'));
  if (packed === undefined || typeof packed === 'string') return undefined;
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.length);
  const end = bytes.indexOf(` ${name}\n`);
  if (end < 0) return undefined;
  const commit = bytes.toString('latin1', bytes.lastIndexOf('\n', end) + 1, end);
  return commitShape.test(commit) ? commit : undefined;
}

/** Empty: it cannot be read, or is no small file. */
async function smallText(path: string): Promise<string> {
  const read = await readRegular(path);
  return read === undefined || typeof read === 'string' || read.length > longestSmall
    ? ''
    : Buffer.from(read).toString('utf8');
}
