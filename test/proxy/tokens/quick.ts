// Says how much of the processor something takes, so that a busy machine is not taken for slow code.

/** Work on an input of that size; making the input is not part of the time. */
export type Work = (size: number) => () => unknown;

const mostRuns = 5;

/** Thread time in milliseconds of the fastest of five runs. A run below `enoughMs` is the last one. */
export function threadMsOf(work: () => unknown, enoughMs = 0): number {
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < mostRuns && best >= enoughMs; run += 1) {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}

/**
 * What is wrong with the time that the work takes: more than `mostMs` for this size, or growth with the square of the size. The work
 * on the whole may take twelve times as long as the work on a quarter, where a square would take sixteen. What is over in `trifleMs`
 * is not judged.
 */
export function slownessOf(
  work: Work,
  { size, mostMs, trifleMs = 25 }: { size: number; mostMs: number; trifleMs?: number },
): string[] {
  const whole = work(size);
  if (threadMsOf(whole, trifleMs) < trifleMs) return [];
  const linearMs = 12 * Math.max(threadMsOf(work(size / 4)), trifleMs / 12);
  const tookMs = threadMsOf(whole, Math.min(linearMs, mostMs));
  const took = `${tookMs.toFixed(0)} ms for a size of ${size}`;
  return [
    ...(tookMs < linearMs ? [] : [`${took}, more than ${linearMs.toFixed(0)} ms: the time grows faster than the size`]),
    ...(tookMs < mostMs ? [] : [`${took}, more than ${mostMs} ms`]),
  ];
}
