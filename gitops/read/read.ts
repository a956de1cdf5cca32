// Reads the configuration directory: the bytes of its YAML files.
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { searchDirectory } from './directory-tree.ts';
import { type Problem, problemOfFile } from './problem.ts';

export interface SourceFile {
  /** Path within the directory, with slashes. */
  name: string;
  /** The path for messages. */
  path: string;
  bytes: Uint8Array;
}

export interface Reading {
  files: SourceFile[];
  /** One for each file that cannot be read, or one for the directory. */
  problems: Problem[];
  /** SHA-256 over names, bytes and problems, in hex. */
  hash: string;
}

const maxFileBytes = 8 * 1_048_576;
const maxTotalBytes = 64 * 1_048_576;

const reasons: Record<string, string> = {
  EACCES: 'cannot be read: permission denied',
  EPERM: 'cannot be read: permission denied',
  ELOOP: 'is a symbolic link that leads back to itself',
  ENOENT: 'is a symbolic link to nothing',
  ENAMETOOLONG: 'has a name that is too long',
  ENXIO: 'is not a regular file',
};

/** The first twelve hex digits of a content hash, as logs and metrics show it. */
export function revisionOf(hash: string): string {
  return hash.slice(0, 12);
}

/**
 * Reads every `*.yaml` and `*.yml` of the directory and of the directories in it, sorted by path; entries whose names begin with a dot
 * are skipped, symbolic links followed. Never throws. A file that is not regular is a problem and never blocks. `shown` stands for the
 * directory in all paths for messages.
 */
export async function readDirectory(directory: string, shown: string = directory): Promise<Reading> {
  const problems: Problem[] = [];
  const files: SourceFile[] = [];
  let names: string[] = [];
  try {
    const tree = await searchDirectory(directory);
    names = tree.files;
    problems.push(...tree.problems.map(({ name, message }) => problemOfFile(pathOf(shown, name), message)));
    if (names.length === 0 && problems.length === 0)
      problems.push(problemOfFile(shown, 'has no *.yaml or *.yml file; an empty configuration is a file holding {}'));
  } catch (error) {
    problems.push(problemOfFile(shown, explainDirectory(error)));
  }
  let total = 0;
  for (const name of names) {
    const path = pathOf(shown, name);
    const read = await readRegular(join(directory, name));
    if (read === undefined) continue;
    if (typeof read === 'string') {
      problems.push(problemOfFile(path, read));
      continue;
    }
    total += read.length;
    if (total > maxTotalBytes) {
      problems.push(problemOfFile(shown, 'holds more than 64 MiB of YAML in all'));
      break;
    }
    files.push({ name, path, bytes: read });
  }
  return { files, problems, hash: hashOf(files, problems) };
}

/** SHA-256 over names, bytes and read problems: the same read problem twice gives the same hash. */
export function hashOf(files: readonly SourceFile[], problems: readonly Problem[]): string {
  const hash = createHash('sha256');
  for (const { name, bytes } of files) hash.update(`${JSON.stringify(name)} ${bytes.length}\n`).update(bytes);
  for (const { file, message } of problems) hash.update(JSON.stringify([file, message]));
  return hash.digest('hex');
}

/** The path for messages of an entry of the directory; an empty name is the directory itself. */
function pathOf(shown: string, name: string): string {
  return name === '' ? shown : join(shown, name);
}

/** The bytes, a sentence with the reason when the file cannot be read, or undefined when it no longer exists. */
export async function readRegular(path: string): Promise<Uint8Array | string | undefined> {
  try {
    const problem = explainFileType(await stat(path));
    if (problem !== undefined) return problem;
    // The path may lead to another file by now: O_NONBLOCK, so that a pipe cannot block, and a second check of the opened file.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return explainFileType(await handle.stat()) ?? (await readBounded(handle));
    } finally {
      await handle.close();
    }
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' && (await isGone(path))) return undefined;
    return reasons[code] ?? `cannot be read (${code})`;
  }
}

async function readBounded(handle: Awaited<ReturnType<typeof open>>): Promise<Uint8Array | string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  while (length <= maxFileBytes) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(65_536));
    if (bytesRead === 0) return Buffer.concat(parts);
    parts.push(buffer.subarray(0, bytesRead));
    length += bytesRead;
  }
  return tooLarge;
}

const tooLarge = 'is larger than 8 MiB, the limit for one file';

function explainFileType(found: {
  isFile(): boolean;
  isDirectory(): boolean;
  isFIFO(): boolean;
  size: number;
}): string | undefined {
  if (found.isDirectory()) return 'is a directory, expected a file; a directory with this ending is not searched';
  if (found.isFIFO()) return 'is a named pipe, expected a regular file';
  if (!found.isFile()) return 'is a device or socket, expected a regular file';
  return found.size > maxFileBytes ? tooLarge : undefined;
}

async function isGone(path: string): Promise<boolean> {
  return lstat(path).then(
    () => false,
    () => true,
  );
}

function explainDirectory(error: unknown): string {
  const code = codeOf(error);
  if (code === 'ENOENT') return 'the configuration directory does not exist';
  if (code === 'ENOTDIR') return 'is a file, expected the configuration directory';
  return reasons[code] ?? `cannot be read (${code})`;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}

/** All files of a directory; undefined where some could not be read. */
export function wholeOf({ files, problems }: Reading): SourceFile[] | undefined {
  return problems.length === 0 ? files : undefined;
}
