// What a process says that it should never say, whatever clients and providers do to it.
import type { RunningProcess } from './process.ts';

/** No fault of the process: the disk of a busy machine may be slow, and the process then says so. */
const slowDisk = /the state store in \S+ did not answer in \d+ ms/;

/** Its lines, of every run, about unexpected failures, errors and warnings of Node. */
export function complaintsOf({ stdout, stderr }: Pick<RunningProcess, 'stdout' | 'stderr'>): string[] {
  return [...stdout, ...stderr].filter(
    (line) => /unexpected failure|"level":"(error|fatal)"|Warning/.test(line) && !slowDisk.test(line),
  );
}
