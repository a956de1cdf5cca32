// What belongs into a backup and is no database: records that wait in journals, the dates at which rules of the YAML were first seen, and which
// file of shared limits a proxy has told its uses.
import { globSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isMissing, type Segment, segmentPath, segmentsIn } from '../records/file/segment-names.ts';
import { readOffset } from '../records/file/segment-state.ts';

const newline = 0x0a;
const journalFile = /^[^/]+\/journal\/[0-9]{10}-[0-9a-f]{16}\.jsonl$/;
const memoryFile = /^[^/]+\/(declared-[a-z]+|limits)\.json$/;

export interface SideFile {
  /** Below the data directory, with slashes. */
  readonly path: string;
  readonly content: Buffer;
}

/** Whether a file of a backup has the name of one of these. */
export function isSideFile(path: string): boolean {
  return isJournalFile(path) || (memoryFile.test(path) && !path.startsWith('.'));
}

/** Records that wait are in Redis instead, with `REDIS_URL`. */
export function isJournalFile(path: string): boolean {
  return journalFile.test(path) && !path.startsWith('.');
}

/** Those that are there now, one after the other. Rejects with errors of the file system. */
export async function* sideFilesIn(dataDirectory: string, hasJournals: boolean): AsyncGenerator<SideFile> {
  const instances = globSync('*/', { cwd: dataDirectory }).map((name) => basename(name));
  for (const instance of instances) {
    const folder = join(dataDirectory, instance);
    for (const name of globSync(['declared-*.json', 'limits.json'], { cwd: folder }))
      yield { path: `${instance}/${name}`, content: (await contentFrom(join(folder, name), 0)) ?? Buffer.alloc(0) };
    if (!hasJournals) continue;
    for (const segment of await segmentsIn(join(folder, 'journal'))) {
      const content = await waitingLines(segment);
      if (content !== undefined) yield { path: `${instance}/journal/${basename(segmentPath(segment))}`, content };
    }
  }
}

/** Whole lines that are not in the record store; undefined: there are none, or all were stored meanwhile. */
async function waitingLines(segment: Segment): Promise<Buffer | undefined> {
  const content = await contentFrom(segmentPath(segment), await readOffset(segment));
  const lines = content?.subarray(0, content.lastIndexOf(newline) + 1);
  return lines === undefined || lines.length === 0 ? undefined : lines;
}

/** From an offset on, all of it when it is shorter; undefined: it was removed. */
async function contentFrom(path: string, offset: number): Promise<Buffer | undefined> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      const from = offset <= size ? offset : 0;
      const content = Buffer.alloc(size - from);
      const { bytesRead } = await file.read(content, 0, content.length, from);
      return content.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
