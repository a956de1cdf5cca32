// How much longer things take because other programs have the processor: bounds on time are multiplied by it.
import { readFileSync } from 'node:fs';

/** What the scheduler says of the main thread of a process: how long it ran, and how long it was ready to run and had to wait. */
function schedule(pid: number): { readonly ranNs: number; readonly waitedNs: number } {
  const [ranNs = 0, waitedNs = 0] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number);
  return { ranNs, waitedNs };
}

/**
 * Begins to watch a process; the result gives the factor since then: 1 on a machine that it has for itself, 2 when it had to wait as
 * long as it ran. The processor time that the process itself wastes does not raise it.
 */
export function watchSlowdown(pid: number = process.pid): () => number {
  const before = schedule(pid);
  return () => {
    const { ranNs, waitedNs } = schedule(pid);
    return 1 + (waitedNs - before.waitedNs) / Math.max(ranNs - before.ranNs, 1);
  };
}
