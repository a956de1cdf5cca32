// How much longer things take because other programs have the processor: bounds on time are multiplied by it.
import { readFileSync } from 'node:fs';

/** What the scheduler says of the main thread of a process: how long it ran, and how long it was ready to run and had to wait. */
function schedule(pid: number): { readonly ranNs: number; readonly waitedNs: number } {
  try {
    const [ranNs = 0, waitedNs = 0] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number);
    return { ranNs, waitedNs };
  } catch {
    return { ranNs: 0, waitedNs: 0 };
  }
}

/**
 * Begins to watch this process and others; the result gives the greatest factor since then: 1 on a machine that each has for itself,
 * 2 when one had to wait as long as it ran. The processor time that a process itself wastes does not raise it. 1 for a process that
 * has ended, and where there is no scheduler to ask.
 */
export function watchSlowdown(...others: readonly { readonly pid: number }[]): () => number {
  const watched = [process, ...others].map(({ pid }) => ({ pid, before: schedule(pid) }));
  return () => {
    const factors = watched.map(({ pid, before }) => {
      const { ranNs, waitedNs } = schedule(pid);
      return ranNs > before.ranNs ? 1 + (waitedNs - before.waitedNs) / (ranNs - before.ranNs) : 1;
    });
    return Math.max(1, ...factors);
  };
}

/**
 * Begins to measure; the result gives the milliseconds since then, divided by the slowdown of this process and of the others: what it
 * would have taken on a machine without other work.
 */
export function watchTime(...others: readonly { readonly pid: number }[]): () => number {
  const startedMs = performance.now();
  const slowdown = watchSlowdown(...others);
  return () => (performance.now() - startedMs) / slowdown();
}
