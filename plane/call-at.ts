// Calls back at a time, by a clock that may be set meanwhile.

/** While something has an end, the clock is looked at this often: it may be set. Milliseconds. */
export const longestWaitMs = 500;

/** Calls back at a time, by the clock as it is then. */
export class CallAt {
  readonly #nowMs: () => number;
  readonly #over: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** `nowMs`: Unix milliseconds. */
  constructor(nowMs: () => number, over: () => void) {
    this.#nowMs = nowMs;
    this.#over = over;
  }

  /** In the place of the time before; undefined: never. */
  await(atMs: number | undefined): void {
    clearTimeout(this.#timer);
    if (atMs === undefined) return;
    const waitMs = Math.min(Math.max(atMs - this.#nowMs(), 1), longestWaitMs);
    this.#timer = setTimeout(() => (this.#nowMs() < atMs ? this.await(atMs) : this.#over()), waitMs).unref();
  }
}
