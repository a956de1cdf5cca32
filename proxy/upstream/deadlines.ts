// One coarse timer for all deadlines of all upstream calls: a timer or AbortController per request would cost more than its parsing.

/** Something that must not outlive its deadline. Times in milliseconds of the shared clock. */
export interface Timed {
  /** The next moment at which `expire` is due; moved freely by its owner. */
  deadlineMs: number;
  /** Where it stands in the list of those that are open, which sets it; undefined: it is not. */
  place?: number | undefined;
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
  // No Set: when its table is full, the old one leads V8 to the new one. Once one of them is in the old generation, all that is ever put into
  // it follows there, with the request around it, until a full collection: scavenges took twice as long.
  const open: Timed[] = [];
  let timer: NodeJS.Timeout | undefined;
  let tickedAtMs = 0;
  return {
    get coarseNowMs() {
      return timer === undefined ? nowMs() : tickedAtMs;
    },
    add(timed) {
      if (timed.place !== undefined) return;
      timed.place = open.push(timed) - 1;
      if (timer === undefined) start();
    },
    remove(timed) {
      const { place } = timed;
      if (place === undefined) return;
      timed.place = undefined;
      const last = open.pop();
      if (last === undefined || last === timed) return;
      open[place] = last;
      last.place = place;
    },
  };

  function start(): void {
    tickedAtMs = nowMs();
    timer = setInterval(tick, tickMs).unref();
  }

  function tick(): void {
    const now = nowMs();
    const pauseMs = now - tickedAtMs - tickMs;
    tickedAtMs = now;
    // A process that was stopped did not wait: bytes may have come that it could not read.
    if (pauseMs > longPauseMs) for (const timed of open) timed.deadlineMs += pauseMs;
    // From the end on, because one that is removed gets the last one in its place.
    for (let place = open.length - 1; place >= 0; place -= 1) {
      const timed = open[place];
      if (timed !== undefined && timed.deadlineMs <= now) timed.expire();
    }
    if (open.length > 0) return;
    clearInterval(timer);
    timer = undefined;
  }
}
