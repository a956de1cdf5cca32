// Turns the configuration directory into bytes in memory; the only part of the flow that touches the YAML files.
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, opendir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Problem, problemOfFile } from './problem.ts';

export interface SourceFile {
  /** File name within the directory. */
  name: string;
  /** Path to show to a person. */
  path: string;
  bytes: Uint8Array;
}

export interface Reading {
  files: SourceFile[];
  /** What cannot be read. */
  problems: Problem[];
  /** SHA-256 over names, bytes and problems, in hex. */
  hash: string;
}

/** Far beyond what people keep apart, and read within a second. */
const mostFiles = 1_000;
/** Other files cost time at every listing, about 2 ms of work a thousand. */
const mostEntries = 200_000;
/** Entries that are read in one go while everything else waits: well under a millisecond. */
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

/** The first twelve hex digits of a content hash: what people and metrics see. */
export function revisionOf(hash: string): string {
  return hash.slice(0, 12);
}

/**
 * Reads every `*.yaml` and `*.yml` of the directory, sorted by name; not recursive, dotfiles skipped, symbolic links followed. Never
 * throws and never blocks on what is not a regular file: that is a problem in the result.
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

/** SHA-256 over names and bytes, and over what could not be read, so that a lasting fault is one content and not many. */
export function hashOf(files: readonly SourceFile[], problems: readonly Problem[]): string {
  const hash = createHash('sha256');
  for (const { name, bytes } of files) hash.update(`${JSON.stringify(name)} ${bytes.length}\n`).update(bytes);
  for (const { file, message } of problems) hash.update(JSON.stringify([file, message]));
  return hash.digest('hex');
}

/** A cheap mark of the directory's state. Equal places and files mean that nothing changed as far as the file system tells. */
export interface DirectoryMark {
  /** Where it really is. */
  place: string;
  /** Identity, size and times of every YAML file behind its symbolic link. */
  files: string;
  /** The names of the YAML files, and the state of the directory itself in which they were listed, this many marks in a row. */
  listing?: { names: string[]; state: string; marks: number };
}

/** A file system may count in seconds: what changed within one tick of its clock after a listing would be overlooked for ever. */
const marksUntilSettled = 6;

/**
 * The mark of a directory. The directory itself changes when a name in it comes, goes or moves; as long as it has not, and had not for
 * some marks before, the names of the mark `before` are taken, because listing thousands of foreign files takes its time. Never throws.
 */
export async function markDirectory(directory: string, before?: DirectoryMark): Promise<DirectoryMark> {
  try {
    const real = await realpath(directory);
    const { dev, ino, mtimeNs, ctimeNs } = await stat(real, { bigint: true });
    const place = `${real} ${dev} ${ino}`;
    const state = `${place} ${mtimeNs} ${ctimeNs}`;
    const known = before?.listing?.state === state ? before.listing : undefined;
    const isSettled = known !== undefined && known.marks >= marksUntilSettled;
    const names = isSettled ? known.names : (await listYaml(directory)).names;
    const files: string[] = [];
    for (const name of names) {
      const found = await stat(join(directory, name), { bigint: true }).catch((error: unknown) => codeOf(error));
      files.push(
        typeof found === 'string'
          ? `${name} ${found}`
          : `${name} ${found.dev} ${found.ino} ${found.mode} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`,
      );
    }
    return { place, files: files.join('\n'), listing: { names, state, marks: (known?.marks ?? 0) + 1 } };
  } catch (error) {
    return { place: codeOf(error), files: '' };
  }
}

/** Whether a file of this name is part of a configuration. */
export function isYamlName(name: string): boolean {
  return /\.ya?ml$/.test(name) && !name.startsWith('.');
}

/** The names of the YAML files, sorted; none, and why, when there is too much in the directory. */
async function listYaml(directory: string): Promise<{ names: string[]; problem?: string }> {
  const names: string[] = [];
  let entries = 0;
  for await (const { name } of await opendir(directory, { bufferSize: entriesAtOnce })) {
    entries += 1;
    if (entries > mostEntries) return { names: [], problem: `holds more than ${mostEntries} files; ${ofItsOwn}` };
    if (!isYamlName(name)) continue;
    names.push(name);
    if (names.length > mostFiles) return { names: [], problem: `holds more than ${mostFiles} YAML files; ${ofItsOwn}` };
  }
  return { names: names.sort() };
}

const ofItsOwn = 'keep the configuration in a directory of its own';

/** The bytes, a sentence saying why not, or undefined for a file that is gone by now. */
async function readRegular(path: string): Promise<Uint8Array | string | undefined> {
  try {
    const refused = refusal(await stat(path));
    if (refused !== undefined) return refused;
    // The path may have changed its meaning since: O_NONBLOCK so that a pipe cannot hold us, and a second look at what was opened.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return refusal(await handle.stat()) ?? (await readBounded(handle));
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

function refusal(found: {
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
