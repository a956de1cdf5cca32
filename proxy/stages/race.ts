// The targets a request asks at the same time: one; or two, when the first is slower than usual to begin (hedging, opt-in per alias).
import { outrun } from '../upstream/failure.ts';
import type { Asking } from './ask.ts';

/** The first answer wins; the slower target is cancelled then. */
export class Race {
  /** An answer was accepted, or none is needed any more. */
  isOver = false;
  #first: Asking | undefined;
  #second: Asking | undefined;
  #patience: NodeJS.Timeout | undefined;
  #isHedged = false;

  /** No target is being asked. */
  get isIdle(): boolean {
    return this.#first === undefined;
  }

  begin(asking: Asking): void {
    if (this.#first === undefined) this.#first = asking;
    else this.#second = asking;
  }

  /** Calls `ask` once, when a target that is asked alone takes longer than most of its answers of this kind do. */
  hedge(asking: Asking, isStream: boolean, ask: () => void): void {
    if (this.#isHedged || asking !== this.#first) return;
    const afterMs = asking.state.latency.p95(isStream);
    if (afterMs === undefined) return;
    this.#patience = setTimeout(() => {
      this.#isHedged = true;
      ask();
    }, afterMs);
  }

  /** One that was asked has an outcome. */
  done(asking: Asking): void {
    if (asking === this.#first) {
      clearTimeout(this.#patience);
      this.#first = this.#second;
    }
    this.#second = undefined;
  }

  /** No answer is needed any more: what is still asked is cancelled. */
  end(): void {
    this.isOver = true;
    clearTimeout(this.#patience);
    this.#first?.answer.cancel(outrun);
  }

  /** The client has left. */
  leave(): void {
    clearTimeout(this.#patience);
    this.#first?.answer.cancel();
    // The second, when the first had not been sent.
    this.#first?.answer.cancel();
  }
}
