// Reads segments from where their records are stored, and removes those that are finished and stored.
import { open } from 'node:fs/promises';
import { longestLineBytes } from '../record-line.ts';
import { type LineReading, type LinesRead, readLines } from './read-lines.ts';
import { type Segment, segmentPath } from './segment-names.ts';
import { isAbandoned, keepOffset, readOffset, removeSegment, sizeOf } from './segment-state.ts';

/** A segment, and what the others of its directory say about it. */
export interface Found {
  readonly segment: Segment;
  /** The only one of its writer that can grow. */
  readonly isNewest: boolean;
}

/** Lines of a segment that are not stored. */
export interface Taken extends Found, LinesRead {
  /** There is no more, and there will be none. */
  readonly isLast: boolean;
}

export interface SegmentReader {
  /**
   * Takes lines that are not stored yet, about as many as there is room for. `done`: the segment was removed, is being
   * stored, or another reader was quicker; `waiting`: more may come. Rejects with errors of the file system.
   */
  take(found: Found, room: Pick<LineReading, 'lines' | 'bytes'>): Promise<Taken | 'done' | 'waiting'>;
  /** All that was taken is stored. Never rejects: what cannot be removed now is removed by the next `take`, or the reason told. */
  store(taken: readonly Taken[]): Promise<void>;
  /** Bytes that are not stored. Rejects with errors of the file system. */
  backlog(segment: Segment): Promise<number>;
  /** Those that are not among them are gone. */
  forgetAllBut(segments: readonly Segment[]): void;
}

/** How far a segment is stored, and how large it was when only a part of a line was left. */
interface Progress {
  offset: number;
  partAt?: number;
}

export function segmentReader(): SegmentReader {
  const progress = new Map<string, Progress>();

  async function progressOf(segment: Segment): Promise<Progress> {
    const path = segmentPath(segment);
    const known = progress.get(path) ?? { offset: await readOffset(segment) };
    progress.set(path, known);
    return known;
  }

  return {
    async take(found, room) {
      const { segment, isNewest } = found;
      // Looked at before its size: what a process writes before its end is then in it.
      const isFinished = !isNewest || isAbandoned(segment);
      const known = await progressOf(segment);
      const size = await sizeOf(segment);
      if (size === undefined) return 'done';
      // Segments grow, and lose at most a part of a line: an offset behind the end is garbage.
      if (known.offset > size) known.offset = 0;
      if (known.offset === size) {
        if (isFinished) await removeSegment(segment, isNewest);
        return isFinished ? 'done' : 'waiting';
      }
      if (!isFinished && known.partAt === size) return 'waiting';
      const read = await readFrom(segment, { from: known.offset, ...room, longest: longestLineBytes });
      if (read.end > known.offset) return { ...read, ...found, isLast: isFinished && read.end >= size };
      known.partAt = size;
      return isFinished ? { lines: [], passedOver: 1, end: size, ...found, isLast: true } : 'waiting';
    },
    async store(taken) {
      for (const { segment, end } of taken) {
        const known = await progressOf(segment);
        known.offset = Math.max(known.offset, end);
      }
      for (const { segment, isNewest, isLast, end } of taken) {
        if (isLast) await removeSegment(segment, isNewest).catch(() => undefined);
        else await keepOffset(segment, end);
      }
    },
    async backlog(segment) {
      const { offset } = await progressOf(segment);
      return Math.max(0, ((await sizeOf(segment)) ?? 0) - offset);
    },
    forgetAllBut(segments) {
      const paths = new Set(segments.map(segmentPath));
      for (const path of progress.keys()) if (!paths.has(path)) progress.delete(path);
    },
  };
}

async function readFrom(segment: Segment, reading: LineReading): Promise<LinesRead> {
  const file = await open(segmentPath(segment), 'r');
  try {
    return await readLines(file, reading);
  } finally {
    await file.close();
  }
}
