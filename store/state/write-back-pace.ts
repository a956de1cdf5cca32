// When documents may be written back into a store that lost them: at once, but not again and again into one that goes on losing them.

/** The pause after a write-back, which doubles with every one that comes soon after. Milliseconds. */
const [shortestMs, longestMs] = [1_000, 60_000];
/** After so long without one, the next may come at once again. */
const calmMs = 2 * longestMs;

export class WriteBackPace {
  readonly #retry: () => void;
  #pauseMs = 0;
  #gate: 'free' | 'waiting' | 'due' = 'free';
  #timer: NodeJS.Timeout | undefined;
  #calm: NodeJS.Timeout | undefined;

  /** `retry` is called when one may be tried that was not before. */
  constructor(retry: () => void) {
    this.#retry = retry;
  }

  /** Whether one may be tried now; else `retry` is called when it may. `graceMs`: how long others are given to do it first. */
  mayTry(graceMs: number): boolean {
    if (this.#gate === 'due' || (this.#gate === 'free' && graceMs === 0)) return true;
    if (this.#gate === 'free') this.#wait(graceMs, 'due');
    return false;
  }

  /** One was tried. */
  tried(): void {
    this.#pauseMs = Math.min(longestMs, Math.max(shortestMs, 2 * this.#pauseMs));
    this.#wait(this.#pauseMs, 'free');
    clearTimeout(this.#calm);
    this.#calm = setTimeout(() => {
      this.#pauseMs = 0;
    }, calmMs).unref();
  }

  /** Nothing is to be written back any more. */
  settled(): void {
    if (this.#gate === 'due') this.#gate = 'free';
  }

  close(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#calm);
  }

  #wait(ms: number, then: 'free' | 'due'): void {
    this.#gate = 'waiting';
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#gate = then;
      this.#retry();
    }, ms).unref();
  }
}
