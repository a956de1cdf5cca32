// The holdings of an admitted request: its slots until it ends, and its count until a provider was called.
import { sliceAt } from '../../domain/rules/slice.ts';
import type { MatchedCounters } from './match.ts';
import type { Tally } from './tally.ts';
import { requests } from './window.ts';

/**
 * All that one admission took. It is bound to the counters it took from: after a reset, a deletion or a re-creation of
 * a rule, giving back does not change the new counters.
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

  /** Gives the slots back; call it when the request has ended, in every case. A second call does nothing. */
  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    for (const { counter } of this.#slots) {
      if (counter !== undefined && counter.window === undefined) counter.inFlight -= 1;
    }
  }

  /**
   * Removes the request from the windows and gives the slots back: it was not carried out. A second call does nothing.
   */
  refund(nowMs: number): void {
    this.release();
    this.uncount(nowMs);
  }

  /**
   * Whether some window counts the request in a slice before that of `nowMs` (Unix milliseconds), or no longer counts
   * for its rule.
   */
  isDated(nowMs: number): boolean {
    if (nowMs === this.#atMs || !this.#isCounted) return false;
    for (const { caps, counter } of this.#windows) {
      if (counter?.window === undefined) continue;
      const { periodSeconds } = caps.rule;
      if (counter.retired || sliceAt(this.#atMs, periodSeconds) !== sliceAt(nowMs, periodSeconds)) return true;
    }
    return false;
  }

  /** Whether the request is counted under the rule of this tally. */
  counts(tally: Tally): boolean {
    return this.#windows.some(({ caps }) => caps.tally === tally);
  }

  /** Removes the request from the windows and keeps the slots. A second call does nothing. */
  uncount(nowMs: number): void {
    if (!this.#isCounted) return;
    this.#isCounted = false;
    for (const { caps, counter } of this.#windows) {
      if (counter?.window === undefined || counter.retired || caps.requestsCap === Number.POSITIVE_INFINITY) continue;
      counter.window.refund(requests, 1, this.#atMs, nowMs);
      counter.touch();
    }
  }

  /** Notes that the caller has counted the request again at `atMs` (Unix milliseconds), in exactly these windows. */
  recount(windows: MatchedCounters, atMs: number): void {
    this.#windows = windows;
    this.#atMs = atMs;
    this.#isCounted = true;
  }
}
