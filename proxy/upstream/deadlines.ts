// One coarse timer for all deadlines of all upstream calls: a timer or AbortController per request would cost more than its parsing.

import { type Listed, OpenList } from '../pacing/open-list.ts';
import { Polling } from '../pacing/polling.ts';

/** Something that must not outlive its deadline. Times in milliseconds of the shared clock. */
export interface Timed extends Listed {
  /** The next moment at which `expire` is due; moved freely by its owner. */
  deadlineMs: number;
  expire(): void;
}

export interface Deadlines {
  /** The clock's reading at the last tick: at most one tick old, free to read while something is open. */
  readonly coarseNowMs: number;
  add(timed: Timed): void;
  remove(timed: Timed): void;
}

/** How late a deadline may fire. */
const tickMs = 50;
/** A tick later than this means that the process stood still. */
const longPauseMs = 1000;

/** Ticks while something is open. `nowMs` is the monotonic clock. */
export function createDeadlines(nowMs: () => number): Deadlines {
  const open = new OpenList<Timed>();
  const ticking = new Polling(tick, tickMs);
  let tickedAtMs = 0;
  return {
    get coarseNowMs() {
      return ticking.isRunning ? tickedAtMs : nowMs();
    },
    add(timed) {
      open.add(timed);
      if (ticking.isRunning) return;
      tickedAtMs = nowMs();
      ticking.start();
    },
    remove: (timed) => open.remove(timed),
  };

  function tick(): boolean {
    const now = nowMs();
    const pauseMs = now - tickedAtMs - tickMs;
    tickedAtMs = now;
    // A process that was stopped did not wait: bytes may have come that it could not read.
    if (pauseMs > longPauseMs)
      open.each((timed) => {
        timed.deadlineMs += pauseMs;
      });
    open.each((timed) => {
      if (timed.deadlineMs <= now) timed.expire();
    });
    return open.size > 0;
  }
}
