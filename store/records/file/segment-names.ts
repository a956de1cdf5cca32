// Names of the files of a journal: segments, in which records lie, and the files beside them.
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A file of records, one a line. A writer is one run of a process: it appends to its newest segment alone, and holds the lock on
 * `<writer>.lock` for as long as it may append.
 */
export interface Segment {
  readonly directory: string;
  /** Rises with every segment of its directory, so that names sort by age. */
  readonly sequence: number;
  /** 16 hexadecimal digits, drawn by chance. */
  readonly writer: string;
}

const ending = '.jsonl';
const digits = 10;
const pattern = /^([0-9]{10})-([0-9a-f]{16})\.jsonl$/;

/** The directory of journals of an instance. */
export function journalDirectory(dataDirectory: string, instance: string): string {
  return join(dataDirectory, instance, 'journal');
}

export function segmentPath(segment: Segment): string {
  return join(segment.directory, nameOf(segment) + ending);
}

/** Where a reader keeps how far records of the segment are stored. */
export function offsetPath(segment: Segment): string {
  return join(segment.directory, `${nameOf(segment)}.offset`);
}

export function lockPath({ directory, writer }: Pick<Segment, 'directory' | 'writer'>): string {
  return join(directory, `${writer}.lock`);
}

/** The segments in a directory, the oldest first; none when it is missing. Rejects with errors of the file system. */
export async function segmentsIn(directory: string): Promise<readonly Segment[]> {
  const segments: Segment[] = [];
  for (const entry of await entriesOf(directory)) {
    const [, sequence, writer] = pattern.exec(entry.name) ?? [];
    if (!entry.isFile() || sequence === undefined || writer === undefined) continue;
    segments.push({ directory, sequence: Number(sequence), writer });
  }
  return segments.sort((a, b) => a.sequence - b.sequence);
}

/** The directories of journals of all instances under a data directory, there or not. Rejects with errors of the file system. */
export async function journalDirectories(dataDirectory: string): Promise<readonly string[]> {
  const entries = await entriesOf(dataDirectory);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => journalDirectory(dataDirectory, name));
}

async function entriesOf(directory: string): Promise<readonly Dirent[]> {
  return readdir(directory, { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
}

/** Whether an error of the file system says that there is no such file or directory. */
export function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as { code?: string }).code ?? '');
}

function nameOf({ sequence, writer }: Segment): string {
  return `${String(sequence).padStart(digits, '0')}-${writer}`;
}
