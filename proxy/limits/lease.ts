// What an admitted request holds: the right to its slots until it ends, and to its count until a provider was called.
import type { Plan } from './match.ts';
import { requests } from './window.ts';

/**
 * Everything that one admission took. Bound to the very counters it took from: after a reset, a deletion or a re-creation of a
 * rule, giving back does not touch the newcomers.
 */
export class Lease {
  readonly #plan: Plan;
  readonly #atMs: number;
  #isCounted = true;
  #isHeld = true;

  /** `plan` holds exactly the counters that were taken from. */
  constructor(plan: Plan, atMs: number) {
    this.#plan = plan;
    this.#atMs = atMs;
  }

  /** Gives the slots back: when the request has ended, whatever way. Again does nothing. */
  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    for (const counter of this.#plan.counters) counter?.gauge?.giveBack();
  }

  /** The request turned out not to be carried out: takes it back from the windows, and gives the slots back. Again does nothing. */
  refund(nowMs: number): void {
    this.release();
    if (!this.#isCounted) return;
    this.#isCounted = false;
    for (const [index, counter] of this.#plan.counters.entries()) {
      if (counter?.window === undefined || counter.retired) continue;
      if (this.#plan.terms[index]?.requestsCap === Number.POSITIVE_INFINITY) continue;
      counter.window.refund(requests, 1, this.#atMs, nowMs);
      counter.touch();
    }
  }
}
