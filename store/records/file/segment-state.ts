// How far a reader is in a segment, in memory and in a small file beside it, and the end of segments that are stored.
import { open, readFile, stat, unlink } from 'node:fs/promises';
import { isLocked } from '../../file-lock.ts';
import { ownFileMode } from '../../own-files.ts';
import { isMissing, lockPath, offsetPath, type Segment, segmentPath } from './segment-names.ts';

/** Digits of an offset in its file: always as many, so that one that was written in part is none. */
const offsetDigits = 16;

/** Up to where records are stored, as the file beside the segment says; 0 when it says nothing. Never rejects. */
export async function readOffset(segment: Segment): Promise<number> {
  const text = await readFile(offsetPath(segment), 'latin1').catch(() => '');
  return /^[0-9]{16}$/.test(text) ? Number(text) : 0;
}

/** Never rejects: without it records are read again after a restart, and passed over by the store. */
export async function keepOffset(segment: Segment, offset: number): Promise<void> {
  try {
    const file = await open(offsetPath(segment), 'w', ownFileMode);
    try {
      await file.write(String(offset).padStart(offsetDigits, '0'), 0);
    } finally {
      await file.close();
    }
  } catch {
    // A full disk, for example.
  }
}

/** Bytes; undefined: it was removed. Rejects with other errors of the file system. */
export async function sizeOf(segment: Segment): Promise<number | undefined> {
  try {
    return (await stat(segmentPath(segment))).size;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The newest segments of their writers: all others are finished. */
export function newestOf(segments: readonly Segment[]): ReadonlySet<Segment> {
  return new Set(new Map(segments.map((segment) => [`${segment.directory}/${segment.writer}`, segment])).values());
}

/** Whether nothing more can come into the newest segment of a writer: its process is gone. */
export function isAbandoned(segment: Segment): boolean {
  return !isLocked(lockPath(segment));
}

/**
 * Removes a segment whose records are stored. The newest one of its writer takes the lock file with it. Another reader may have been
 * quicker. Rejects with errors of the file system.
 */
export async function removeSegment(segment: Segment, isNewest: boolean): Promise<void> {
  const paths = [offsetPath(segment), ...(isNewest ? [lockPath(segment)] : []), segmentPath(segment)];
  for (const path of paths) {
    await unlink(path).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
  }
}
