// One coarse timer for all deadlines of all upstream calls: a timer or AbortController per request would cost more than its parsing.

/** Something that must not outlive its deadline. Times in milliseconds of the shared clock. */
export interface Timed {
  /** The next moment at which `expire` is due; moved freely by its owner. */
  deadlineMs: number;
  expire(): void;
}

export interface Deadlines {
  /** The clock's reading at the last tick: at most one tick old, free to read. */
  coarseNowMs: number;
  add(timed: Timed): void;
  remove(timed: Timed): void;
}

/** How late a deadline may fire. */
const tickMs = 50;
/** A tick later than this means that the process stood still. */
const longPauseMs = 1000;

/** Starts the timer. `nowMs` is the monotonic clock. */
export function createDeadlines(nowMs: () => number): Deadlines {
  const open = new Set<Timed>();
  const deadlines: Deadlines = {
    coarseNowMs: nowMs(),
    add: (timed) => void open.add(timed),
    remove: (timed) => void open.delete(timed),
  };
  const timer = setInterval(() => {
    const now = nowMs();
    const pauseMs = now - deadlines.coarseNowMs - tickMs;
    deadlines.coarseNowMs = now;
    for (const timed of open) {
      // A process that was stopped did not wait: bytes may have come that it could not read.
      if (pauseMs > longPauseMs) timed.deadlineMs += pauseMs;
      if (timed.deadlineMs <= now) timed.expire();
    }
  }, tickMs);
  timer.unref();
  return deadlines;
}
