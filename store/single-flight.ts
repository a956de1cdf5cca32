// Work that never runs twice at once: what everyone does who asks for it while it runs.

/** One piece of work. A run that rejects rejects for those who share it alone. */
export interface SingleFlight<Answer> {
  /** The run under way, or a new one when there is none. */
  readonly join: () => Promise<Answer>;
  /**
   * A run that begins after this call, because the one under way may not know yet what has just changed. All who ask meanwhile share
   * it, so at most one is waiting.
   */
  readonly next: () => Promise<Answer>;
  readonly isRunning: () => boolean;
  /** Resolves when the run under way has ended, one way or the other; at once when there is none. */
  readonly settled: () => Promise<void>;
}

/** Nothing runs until somebody asks. Where nobody waits for the answer, `run` must not reject. */
export function singleFlight<Answer>(run: () => Promise<Answer>): SingleFlight<Answer> {
  let running: Promise<Answer> | undefined;
  let waiting: Promise<Answer> | undefined;

  function begin(): Promise<Answer> {
    waiting = undefined;
    const begun = run().finally(() => {
      if (running === begun) running = undefined;
    });
    running = begun;
    return begun;
  }
  return {
    join: () => running ?? begin(),
    next() {
      if (running === undefined) return begin();
      waiting ??= running.then(begin, begin);
      return waiting;
    },
    isRunning: () => running !== undefined,
    async settled() {
      await running?.catch(() => undefined);
    },
  };
}
