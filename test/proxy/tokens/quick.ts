// Says how much of the processor something takes, so that a busy machine is not taken for slow code.

/** Thread time in milliseconds of the fastest of three runs. */
export function threadMsOf(work: () => unknown): number {
  const runs = [0, 1, 2].map(() => {
    const before = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...runs);
}

/**
 * Whether time grows with the length and not with its square: four times as long may take twelve times as much, where a square
 * would take sixteen. What is over in `trifleMs` is not judged.
 */
export function growsLinearly(work: (size: number) => () => unknown, size: number, trifleMs = 25): boolean {
  const long = threadMsOf(work(4 * size));
  return long < trifleMs || long < 12 * Math.max(threadMsOf(work(size)), trifleMs / 12);
}
