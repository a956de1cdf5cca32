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
  close(): void;
}

/** How late a deadline may fire. */
const tickMs = 50;

/** Starts the timer. `nowMs` is the monotonic clock. */
export function createDeadlines(nowMs: () => number): Deadlines {
  const open = new Set<Timed>();
  const deadlines: Deadlines = {
    coarseNowMs: nowMs(),
    add: (timed) => void open.add(timed),
    remove: (timed) => void open.delete(timed),
    close: () => clearInterval(timer),
  };
  const timer = setInterval(() => {
    deadlines.coarseNowMs = nowMs();
    for (const timed of open) if (timed.deadlineMs <= deadlines.coarseNowMs) timed.expire();
  }, tickMs);
  timer.unref();
  return deadlines;
}
