// Reads whole lines of a file from an offset on, in reads of bounded size.
import type { FileHandle } from 'node:fs/promises';

export interface LineReading {
  /** Where a line begins. */
  readonly from: number;
  /** About so many lines and bytes at most; one line in any case. */
  readonly lines: number;
  readonly bytes: number;
  /** Longer lines are passed over. Bytes, with the line break. */
  readonly longest: number;
}

export interface LinesRead {
  readonly lines: readonly string[];
  /** Lines that were too long. */
  readonly passedOver: number;
  /** Behind the last whole line. */
  readonly end: number;
}

const chunkBytes = 1024 * 1024;
const lineFeed = 0x0a;

/** Bytes after the last line break are left for later. Rejects with errors of the file system. */
export async function readLines(file: FileHandle, { from, ...most }: LineReading): Promise<LinesRead> {
  const lines: string[] = [];
  let passedOver = 0;
  let end = from;
  /** The line that was begun in chunks before; empty when it is too long already. */
  let begun: Buffer[] = [];
  const isEnough = (): boolean => lines.length >= most.lines || end - from >= most.bytes;

  for (let at = from; end === from; ) {
    const chunk = await readChunk(file, at);
    if (chunk.length === 0) break;
    let start = 0;
    while (!isEnough()) {
      const next = chunk.indexOf(lineFeed, start) + 1;
      if (next === 0) break;
      if (at + next - end > most.longest) passedOver += 1;
      else if (begun.length === 0) lines.push(chunk.toString('utf8', start, next - 1));
      else lines.push(Buffer.concat([...begun, chunk.subarray(start, next - 1)]).toString());
      begun = [];
      start = next;
      end = at + next;
    }
    at += chunk.length;
    if (at - end > most.longest) begun = [];
    else begun.push(chunk.subarray(start));
  }
  return { lines, passedOver, end };
}

async function readChunk(file: FileHandle, at: number): Promise<Buffer> {
  const { size } = await file.stat();
  const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(0, size - at)));
  const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
  return chunk.subarray(0, bytesRead);
}
