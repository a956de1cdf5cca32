import { setImmediate } from 'node:timers/promises';

/**
 * The longest time in milliseconds that one turn of the event loop took while `work` went on. Time of the thread, so that a machine
 * that gives the processor to another process is not taken for a block.
 */
export async function longestBlock(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let last = threadMs();
  const end = new AbortController();
  const over = work().finally(() => end.abort());
  while (!end.signal.aborted) {
    await setImmediate();
    const now = threadMs();
    longest = Math.max(longest, now - last);
    last = now;
  }
  await over;
  return longest;
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
