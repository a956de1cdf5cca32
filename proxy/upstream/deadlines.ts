// One coarse timer for all deadlines of all upstream calls: a timer or AbortController per request would cost more than its parsing.

/** Something that must not outlive its deadline. Times in milliseconds of the shared clock. */
export interface Timed {
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

/** Ticks while something is open: a process without requests sleeps. `nowMs` is the monotonic clock. */
export function createDeadlines(nowMs: () => number): Deadlines {
  const open = new Set<Timed>();
  let timer: NodeJS.Timeout | undefined;
  let tickedAtMs = 0;
  return {
    get coarseNowMs() {
      return timer === undefined ? nowMs() : tickedAtMs;
    },
    add(timed) {
      open.add(timed);
      if (timer === undefined) start();
    },
    remove: (timed) => void open.delete(timed),
  };

  function start(): void {
    tickedAtMs = nowMs();
    timer = setInterval(tick, tickMs).unref();
  }

  function tick(): void {
    const now = nowMs();
    const pauseMs = now - tickedAtMs - tickMs;
    tickedAtMs = now;
    for (const timed of open) {
      // A process that was stopped did not wait: bytes may have come that it could not read.
      if (pauseMs > longPauseMs) timed.deadlineMs += pauseMs;
      if (timed.deadlineMs <= now) timed.expire();
    }
    if (open.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }
}
