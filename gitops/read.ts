// Reads the configuration directory: the bytes of its YAML files, or a cheap fingerprint of its state.
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, opendir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Problem, problemOfFile } from './problem.ts';

export interface SourceFile {
  /** File name within the directory. */
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

/** This many files are read within a second. */
const mostFiles = 1_000;
/** Other files in the directory cost time at every listing: about 2 ms per thousand. */
const mostEntries = 200_000;
/** Directory entries per read; one read blocks for less than a millisecond. */
const entriesAtOnce = 256;
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
 * Reads every `*.yaml` and `*.yml` of the directory, sorted by name; not recursive, dotfiles skipped, symbolic links followed. Never
 * throws. A file that is not regular is a problem and never blocks.
 */
export async function readDirectory(directory: string): Promise<Reading> {
  const problems: Problem[] = [];
  const files: SourceFile[] = [];
  let names: string[] = [];
  try {
    const listed = await listYaml(directory);
    names = listed.names;
    if (listed.problem !== undefined) problems.push(problemOfFile(directory, listed.problem));
    else if (names.length === 0)
      problems.push(
        problemOfFile(directory, 'has no *.yaml or *.yml file; an empty configuration is a file holding {}'),
      );
  } catch (error) {
    problems.push(problemOfFile(directory, explainDirectory(error)));
  }
  let total = 0;
  for (const name of names) {
    const path = join(directory, name);
    const read = await readRegular(path);
    if (read === undefined) continue;
    if (typeof read === 'string') {
      problems.push(problemOfFile(path, read));
      continue;
    }
    total += read.length;
    if (total > maxTotalBytes) {
      problems.push(problemOfFile(directory, 'holds more than 64 MiB of YAML in all'));
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

/** A cheap fingerprint of the directory. Equal `place` and `files` mean that the file system shows no change. */
export interface DirectoryFingerprint {
  /** Real path, device and inode of the directory. */
  place: string;
  /** Device, inode, mode, size and times of every YAML file, symbolic links followed. */
  files: string;
  /** The names of the YAML files, the state of the directory when listed, and the number of fingerprints in a row with that state. */
  listing?: { names: string[]; state: string; unchanged: number };
}

/**
 * Fingerprints with an unchanged directory until its listing is reused. Times of a file system may count in seconds: a change within
 * the same second as a listing would otherwise never be found.
 */
const unchangedUntilReuse = 6;

/**
 * The fingerprint of a directory. The times of a directory change when a name in it is added, removed or renamed. When they stay the
 * same, the names of the fingerprint `before` are reused, because listing thousands of other files is slow. Never throws.
 */
export async function fingerprintDirectory(
  directory: string,
  before?: DirectoryFingerprint,
): Promise<DirectoryFingerprint> {
  try {
    const real = await realpath(directory);
    const { dev, ino, mtimeNs, ctimeNs } = await stat(real, { bigint: true });
    const place = `${real} ${dev} ${ino}`;
    const state = `${place} ${mtimeNs} ${ctimeNs}`;
    const known = before?.listing?.state === state ? before.listing : undefined;
    const isReusable = known !== undefined && known.unchanged >= unchangedUntilReuse;
    const names = isReusable ? known.names : (await listYaml(directory)).names;
    const files: string[] = [];
    for (const name of names) {
      const found = await stat(join(directory, name), { bigint: true }).catch((error: unknown) => codeOf(error));
      files.push(
        typeof found === 'string'
          ? `${name} ${found}`
          : `${name} ${found.dev} ${found.ino} ${found.mode} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`,
      );
    }
    return { place, files: files.join('\n'), listing: { names, state, unchanged: (known?.unchanged ?? 0) + 1 } };
  } catch (error) {
    return { place: codeOf(error), files: '' };
  }
}

/** Whether a file of this name is part of a configuration. */
export function isYamlName(name: string): boolean {
  return /\.ya?ml$/.test(name) && !name.startsWith('.');
}

/** The names of the YAML files, sorted; none and a problem when the directory has too many files. */
async function listYaml(directory: string): Promise<{ names: string[]; problem?: string }> {
  const names: string[] = [];
  let entries = 0;
  for await (const { name } of await opendir(directory, { bufferSize: entriesAtOnce })) {
    entries += 1;
    if (entries > mostEntries)
      return { names: [], problem: `holds more than ${mostEntries} files; ${useSeparateDirectory}` };
    if (!isYamlName(name)) continue;
    names.push(name);
    if (names.length > mostFiles)
      return { names: [], problem: `holds more than ${mostFiles} YAML files; ${useSeparateDirectory}` };
  }
  return { names: names.sort() };
}

const useSeparateDirectory = 'keep the configuration in a separate directory';

/** The bytes, a sentence with the reason when the file cannot be read, or undefined when it no longer exists. */
async function readRegular(path: string): Promise<Uint8Array | string | undefined> {
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
  if (found.isDirectory()) return 'is a directory, expected a file; directories are not searched';
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
