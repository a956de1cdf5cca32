// The journal of one process in files: appends to a segment, begins a new one when it is long or could not be written to.
import { randomBytes } from 'node:crypto';
import { fstatSync } from 'node:fs';
import { access, type FileHandle, open, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { noRoom } from '../../disk-room.ts';
import { type FileLock, lockFile } from '../../file-lock.ts';
import { ownDirectory, ownFileMode } from '../../own-files.ts';
import type { Kept, LineSink } from '../waiting-lines.ts';
import { lockPath, type Segment, segmentPath, segmentsIn } from './segment-names.ts';

export interface SegmentOptions {
  /** In which the segments lie; made when missing. No other process writes there as a rule, and no harm is done if one does. */
  readonly directory: string;
  /** After so many bytes a new segment begins; default 8 MiB. */
  readonly segmentBytes?: number;
  /** Of all segments in the directory: when they are not read and reach it, no more is written. Default 2 GiB. */
  readonly mostBytes?: number;
}

/** A run of this process, as far as segments go. */
interface Run {
  readonly writer: string;
  readonly lock: FileLock;
  readonly lockPath: string;
}

interface OpenSegment {
  readonly path: string;
  readonly file: FileHandle;
  /** Of whole lines. */
  bytes: number;
}

/**
 * Lines are on the disk as soon as the system writes them there: a kill of this process loses none that were kept, a power cut may lose
 * those of the last seconds.
 */
export function segmentSink({
  directory,
  segmentBytes = 8 * 1024 * 1024,
  mostBytes = 2 * 1024 * 1024 * 1024,
}: SegmentOptions): LineSink {
  let run: Run | undefined;
  let sequence = 0;
  let segment: OpenSegment | undefined;
  /** Of segments that are written no more, by path: until they are read there may be hundreds. */
  let known = new Map<string, number>();

  /** A reader takes a segment without a locked file of its writer for finished: so the lock comes first. */
  function beginRun(): Run {
    ownDirectory(dirname(directory));
    ownDirectory(directory);
    const writer = randomBytes(8).toString('hex');
    const path = lockPath({ directory, writer });
    return { writer, lock: lockFile(path), lockPath: path };
  }

  function endRun(): void {
    run?.lock.release();
    run = undefined;
  }

  async function openSegment(): Promise<OpenSegment> {
    if (run !== undefined && !(await isThere(run.lockPath))) endRun();
    run ??= beginRun();
    const others = await segmentsIn(directory);
    known = await sizesOf(others, known);
    const bytes = [...known.values()].reduce((sum, size) => sum + size, 0);
    if (bytes >= mostBytes) throw new Error(`it holds ${bytes} bytes that the control plane has not read`);
    sequence = 1 + Math.max(sequence, others.at(-1)?.sequence ?? 0);
    const path = segmentPath({ directory, sequence, writer: run.writer });
    return { path, file: await open(path, 'ax', ownFileMode), bytes: 0 };
  }

  /** Takes out an unfinished line, so that the segment ends with a whole one, and removes an empty segment. */
  async function leave({ path, file, bytes }: OpenSegment, hasRest: boolean): Promise<void> {
    segment = undefined;
    if (hasRest && bytes > 0) await file.truncate(bytes).catch(() => undefined);
    await file.close().catch(() => undefined);
    if (bytes === 0) await unlink(path).catch(() => undefined);
  }

  return {
    async write({ bytes, ends }): Promise<Kept> {
      try {
        const problem = noRoom(directory);
        if (problem !== undefined) throw new Error(problem);
        segment ??= await openSegment();
      } catch (error) {
        return { count: 0, trouble: sentence(directory, error) };
      }
      const { written, failure } = await append(segment.file, bytes);
      const count = failure === undefined ? ends.length : ends.filter((lineEnd) => lineEnd <= written).length;
      segment.bytes += ends[count - 1] ?? 0;
      if (failure === undefined) {
        if (segment.bytes >= segmentBytes) await leave(segment, false);
        return { count, trouble: undefined };
      }
      await leave(segment, true);
      return { count, trouble: sentence(directory, failure) };
    },
    async close() {
      if (segment !== undefined) await leave(segment, false);
      const path = run?.lockPath;
      endRun();
      if (path !== undefined) await unlink(path).catch(() => undefined);
    },
  };
}

/** How many of the bytes are in the file, and why not all of them. A file that was removed holds none. */
async function append(
  file: FileHandle,
  bytes: Buffer,
): Promise<{ readonly written: number; readonly failure: unknown }> {
  let written = 0;
  try {
    while (written < bytes.length) {
      const { bytesWritten } = await file.write(bytes, written);
      if (bytesWritten === 0) throw new Error('nothing was written');
      written += bytesWritten;
    }
    // Of a file that is open and was just written to: it takes 2 µs, and a way to another thread and back 20.
    const { nlink } = fstatSync(file.fd);
    return nlink > 0 ? { written, failure: undefined } : { written: 0, failure: new Error('it was removed') };
  } catch (failure) {
    return { written, failure };
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Those that are not known are asked for: one that is gone has 0 bytes. */
async function sizesOf(segments: readonly Segment[], known: ReadonlyMap<string, number>): Promise<Map<string, number>> {
  const sizes = segments.map(async (segment): Promise<[string, number]> => {
    const path = segmentPath(segment);
    return [path, known.get(path) ?? (await sizeAt(path))];
  });
  return new Map(await Promise.all(sizes));
}

function sizeAt(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

function sentence(directory: string, error: unknown): string {
  return `the journal in ${directory} cannot be written: ${error instanceof Error ? error.message : String(error)}`;
}
