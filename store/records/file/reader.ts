// Reads the journals of all processes under a data directory.
import type { JournalBatch, JournalReader } from '../journal.ts';
import { isMissing, journalDirectories, type Segment, segmentsIn } from './segment-names.ts';
import { segmentReader, type Taken } from './segment-reader.ts';
import { newestOf } from './segment-state.ts';

/** Of one batch, about. */
const batchBytes = 1024 * 1024;

/** Nothing is read before the first call. Segments may come and go; other readers do no harm. */
export function openFileReader(dataDirectory: string): JournalReader {
  const reader = segmentReader();
  let turn = 0;

  /** Of all instances, each with its oldest first. One that cannot be read is no obstacle for the others; they take turns in being first. */
  async function find(): Promise<{ readonly segments: readonly Segment[]; readonly failures: unknown[] }> {
    const directories = await journalDirectories(dataDirectory);
    turn += 1;
    const from = turn % Math.max(1, directories.length);
    const failures: unknown[] = [];
    const segments: Segment[] = [];
    for (const directory of [...directories.slice(from), ...directories.slice(0, from)]) {
      const found = await segmentsIn(directory).catch((error: unknown) => {
        failures.push(error);
        return [];
      });
      segments.push(...found);
    }
    reader.forgetAllBut(segments);
    return { segments, failures };
  }

  async function next(most: number): Promise<JournalBatch | undefined> {
    const { segments, failures } = await find();
    const newest = newestOf(segments);
    /** Writers that have more in the segment at hand, or will have: their later ones come later. */
    const held = new Set<string>();
    const taken: Taken[] = [];
    let [lines, bytes] = [0, 0];
    for (const segment of segments) {
      if (held.has(segment.writer)) continue;
      if (lines >= most || bytes >= batchBytes) break;
      const room = { lines: most - lines, bytes: batchBytes - bytes };
      const found = await reader.take({ segment, isNewest: newest.has(segment) }, room).catch((error: unknown) => {
        if (isMissing(error)) return 'done';
        failures.push(error);
        return 'waiting';
      });
      if (found === 'done') continue;
      if (found === 'waiting' || !found.isLast) held.add(segment.writer);
      if (found === 'waiting') continue;
      taken.push(found);
      lines += found.lines.length + found.passedOver;
      bytes += found.lines.reduce((sum, line) => sum + line.length, 0);
    }
    if (taken.length > 0) return batchOf(taken);
    if (failures.length > 0) throw failures[0];
    return undefined;
  }

  function batchOf(taken: readonly Taken[]): JournalBatch {
    const passedOver = taken.reduce((sum, part) => sum + part.passedOver, 0);
    return { lines: taken.flatMap(({ lines }) => lines), passedOver, acknowledge: () => reader.store(taken) };
  }

  return {
    next,
    async backlog() {
      const { segments } = await find();
      const sizes = await Promise.all(segments.map((segment) => reader.backlog(segment)));
      return sizes.reduce((sum, bytes) => sum + bytes, 0);
    },
    close: async () => undefined,
  };
}
