// Passes the output of a worker on in whole lines, so that lines of several workers never run into each other on one standard output.
import type { Readable } from 'node:stream';
import type { LineWriter } from '../../plane/line-writer.ts';

/** A line that is longer is cut there. Bytes: as much as a worker holds of its own lines. */
const longestLine = 2 * 1024 * 1024;
/** Between two looks at an output whose reader has fallen behind. Milliseconds. */
const lookMs = 20;
const newline = 0x0a;
const lineEnd = Buffer.from('\n');

/** Resolves when all that the worker has written was passed on. A worker whose lines nobody takes waits, and drops and counts them itself. */
export function passLinesOn(from: Readable, to: Pick<LineWriter, 'pass' | 'isBehind'>): Promise<void> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  const take = (bytes: Buffer): boolean => {
    const taken = rest.length === 0 ? bytes : Buffer.concat([...rest, bytes]);
    rest = [];
    restBytes = 0;
    return to.pass(taken);
  };
  const waitForRoom = (): void => {
    from.pause();
    const timer = setInterval(() => {
      if (to.isBehind) return;
      clearInterval(timer);
      from.resume();
    }, lookMs);
  };
  from.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf(newline) + 1;
    let isTaken = end === 0 || take(chunk.subarray(0, end));
    if (end < chunk.length) {
      rest.push(chunk.subarray(end));
      restBytes += chunk.length - end;
    }
    if (restBytes > longestLine) isTaken = take(lineEnd);
    if (!isTaken) waitForRoom();
  });
  return new Promise((resolve) => {
    const end = (): void => {
      // The line that a killed worker was writing.
      if (rest.length > 0) take(lineEnd);
      resolve();
    };
    from.once('end', end);
    from.once('error', end);
  });
}
