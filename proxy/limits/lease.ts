// What an admitted request holds: the right to its slots until it ends, and to its count until a provider was called.
import { sliceAt } from '../../domain/rules/slice.ts';
import type { MatchedCounters } from './match.ts';
import type { Tally } from './tally.ts';
import { requests } from './window.ts';

/**
 * Everything that one admission took. Bound to the very counters it took from: after a reset, a deletion or a re-creation of a
 * rule, giving back does not touch the newcomers.
 */
export class Lease {
  /** The counters whose slots are held. */
  readonly #slots: MatchedCounters;
  /** The counters in whose windows the request is counted, and since when. */
  #windows: MatchedCounters;
  #atMs: number;
  #isCounted = true;
  #isHeld = true;

  /** `matched` holds exactly the counters that were taken from. */
  constructor(matched: MatchedCounters, atMs: number) {
    this.#slots = matched;
    this.#windows = matched;
    this.#atMs = atMs;
  }

  /** Gives the slots back: when the request has ended, whatever way. Again does nothing. */
  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    for (const { counter } of this.#slots) {
      if (counter !== undefined && counter.window === undefined) counter.inFlight -= 1;
    }
  }

  /** The request turned out not to be carried out: takes it back from the windows, and gives the slots back. Again does nothing. */
  refund(nowMs: number): void {
    this.release();
    this.uncount(nowMs);
  }

  /** Whether some window counts the request in a slice that is over, or no longer counts for its rule. */
  isDated(nowMs: number): boolean {
    if (nowMs === this.#atMs || !this.#isCounted) return false;
    for (const { caps, counter } of this.#windows) {
      if (counter?.window === undefined) continue;
      const { periodSeconds } = caps.rule;
      if (counter.retired || sliceAt(this.#atMs, periodSeconds) !== sliceAt(nowMs, periodSeconds)) return true;
    }
    return false;
  }

  /** Whether the request is counted under a rule. */
  counts(tally: Tally): boolean {
    return this.#windows.some(({ caps }) => caps.tally === tally);
  }

  /** Takes the request back from the windows and keeps the slots. Again does nothing. */
  uncount(nowMs: number): void {
    if (!this.#isCounted) return;
    this.#isCounted = false;
    for (const { caps, counter } of this.#windows) {
      if (counter?.window === undefined || counter.retired || caps.requestsCap === Number.POSITIVE_INFINITY) continue;
      counter.window.refund(requests, 1, this.#atMs, nowMs);
      counter.touch();
    }
  }

  /** The request was counted anew, in the windows of exactly these counters. */
  recount(windows: MatchedCounters, atMs: number): void {
    this.#windows = windows;
    this.#atMs = atMs;
    this.#isCounted = true;
  }
}
