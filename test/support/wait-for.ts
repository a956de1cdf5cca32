// Waits for a condition with a deadline, so that no test sleeps for a fixed time.
import { watchSlowdown } from './slowdown.ts';

export type Found<T> = Exclude<T, undefined | null | false | 0 | ''>;

/** A deadline is extended by the slowdown of the machine, at most so many times. */
const mostExtended = 4;
/** The pause between two probes. Milliseconds. A probe is often a request: too many of them slow down what the test waits for. */
const shortestPauseMs = 4;
const longestPauseMs = 40;

/**
 * Calls `probe` until it gives something truthy, and gives that back; the pause between two calls is a quarter of the time waited so far.
 * Rejects after `deadlineMs` of a machine without other work, naming `what`.
 */
export async function waitFor<T>(what: string, probe: () => T | Promise<T>, deadlineMs = 10_000): Promise<Found<T>> {
  const startedMs = performance.now();
  const slowdown = watchSlowdown();
  for (;;) {
    const found = await probe();
    if (isFound<T>(found)) return found;
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > deadlineMs && waitedMs > deadlineMs * Math.min(slowdown(), mostExtended)) {
      throw new Error(`waited ${Math.round(waitedMs)} ms in vain for ${what}`);
    }
    const pauseMs = Math.min(Math.max(waitedMs / 4, shortestPauseMs), longestPauseMs);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Waits until `read` has given the same number, above 0, for `stillMs`: bytes that no longer move. Gives the number. */
export async function waitForStandstill(what: string, read: () => number, stillMs = 50): Promise<number> {
  let last = { value: 0, sinceMs: 0 };
  await waitFor(`${what} to stand still`, () => {
    const value = read();
    if (value !== last.value) last = { value, sinceMs: performance.now() };
    return value > 0 && performance.now() - last.sinceMs >= stillMs;
  });
  return last.value;
}

function isFound<T>(value: T): value is Found<T> & T {
  return Boolean(value);
}
