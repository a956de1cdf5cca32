// The targets a request asks at the same time: one; or two, when the first is slower than usual to begin (hedging, opt-in per alias).

import { outrun } from '../upstream/failure.ts';
import type { CallAnswer } from './target-call.ts';

/** A call of a target that was sent. */
interface Running {
  readonly answer: Pick<CallAnswer, 'cancel'>;
}

/** The first answer wins; the slower target is cancelled then. */
export class Race<Call extends Running> {
  /** An answer was accepted, or none is needed any more. */
  isOver = false;
  #first: Call | undefined;
  #second: Call | undefined;
  #patience: NodeJS.Timeout | undefined;
  #isHedged = false;

  /** No target is being asked. */
  get isIdle(): boolean {
    return this.#first === undefined;
  }

  begin(call: Call): void {
    if (this.#first === undefined) this.#first = call;
    else this.#second = call;
  }

  /** Calls `ask` once, when a target that is asked alone takes longer than `afterMs`; undefined: it does not. */
  hedge(call: Call, afterMs: number | undefined, ask: () => void): void {
    if (afterMs === undefined || this.#isHedged || call !== this.#first) return;
    this.#patience = setTimeout(() => {
      this.#isHedged = true;
      ask();
    }, afterMs);
  }

  /** One that was asked has an outcome. */
  done(call: Call): void {
    if (call === this.#first) {
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
