// Work that never runs twice at once: callers share a run, or wait for the next one.

/** One piece of work. A run that rejects rejects for the callers that share it, and for no others. */
export interface SingleFlight<Answer> {
  /** The run under way, or a new one when there is none. */
  readonly join: () => Promise<Answer>;
  /**
   * A run that begins after this call, because the one under way may have read before the latest change. All callers in between share
   * it, so at most one run is waiting.
   */
  readonly next: () => Promise<Answer>;
  readonly isRunning: () => boolean;
  /** Resolves when the run under way has resolved or rejected; at once when there is none. */
  readonly finished: () => Promise<void>;
}

/** Nothing runs before the first call. When no caller waits for the answer, `run` must not reject. */
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
    async finished() {
      await running?.catch(() => undefined);
    },
  };
}
