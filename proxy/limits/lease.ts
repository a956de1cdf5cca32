// The holdings of an admitted request: its slots and the tokens set aside for it until it ends, and its count until a provider was called.
import { sliceAt, sliceCount } from '../../domain/rules/slice.ts';
import type { Moment } from './fleet/fleet.ts';
import type { MatchedCounter, MatchedCounters } from './match.ts';
import { giveBack, type SetAside, setAside } from './set-aside.ts';
import type { Counter, Tally } from './tally.ts';
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
  /** When that was for the state store, if the fleet shares a window. */
  #moment: Moment | undefined;
  #isCounted = true;
  #isHeld = true;
  #reserved: SetAside[] = nothingReserved;

  /** `matched` holds exactly the counters that were taken from. */
  constructor(matched: MatchedCounters, atMs: number, moment?: Moment) {
    this.#moment = moment;
    this.#slots = matched;
    this.#windows = matched;
    this.#atMs = atMs;
  }

  /** Gives back the slots and what is set aside; call it when the request has ended, in every case. A second call does nothing. */
  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    for (const { counter } of this.#slots) {
      if (counter === undefined || counter.window !== undefined) continue;
      counter.inFlight -= 1;
      counter.releaseShared('slots', 1);
    }
    for (const reserved of this.#reserved) giveBack(reserved);
    this.#reserved = nothingReserved;
  }

  /**
   * Sets tokens aside under a token rule that has room for them and a counter, until `release`. Other rules are left out, and a lease that
   * was released takes nothing.
   */
  reserve({ caps, counter }: MatchedCounter, tokens: number, nowMs: number): void {
    if (!this.#isHeld || counter?.window === undefined || caps.tokensCap === Number.POSITIVE_INFINITY) return;
    if (this.#reserved === nothingReserved) this.#reserved = [];
    this.#reserved.push(setAside(caps, counter, tokens, nowMs));
  }

  /** The tokens that this request has set aside on a counter. */
  reservedOn(wanted: Counter): number {
    let sum = 0;
    for (const { counter, tokens } of this.#reserved) if (counter === wanted) sum += tokens;
    return sum;
  }

  /**
   * Removes the request from the windows and gives back all else that it holds: it was not carried out. A second call does nothing.
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

  /** Whether the window of the rule still counts the request: counting it now instead takes no more of its cap. */
  isCountedIn({ caps, counter }: MatchedCounter, nowMs: number): boolean {
    const { periodSeconds } = caps.rule;
    const own = this.#windows.find((match) => match.counter === counter);
    if (own === undefined || counter === undefined || counter.retired) return false;
    return sliceAt(nowMs, periodSeconds) - sliceAt(this.#atMs, periodSeconds) < sliceCount - 1;
  }

  /** Whether the request is counted under the rule of this tally. */
  counts(tally: Tally): boolean {
    return this.#windows.some(({ caps }) => caps.tally === tally);
  }

  /** Removes the request from the windows and keeps the slots. A second call does nothing. */
  uncount(nowMs: number): void {
    if (!this.#isCounted) return;
    this.#isCounted = false;
    for (const match of this.#windows) this.#uncountIn(match, nowMs);
  }

  /** Removes the request from the windows of one rule, under which it counts no more. */
  leave(tally: Tally, nowMs: number): void {
    const left = this.#windows.filter(({ caps }) => caps.tally === tally);
    if (this.#isCounted) for (const match of left) this.#uncountIn(match, nowMs);
    this.#windows = this.#windows.filter(({ caps }) => caps.tally !== tally);
  }

  #uncountIn({ caps, counter }: MatchedCounter, nowMs: number): void {
    if (counter?.window === undefined || counter.retired || caps.requestsCap === Number.POSITIVE_INFINITY) return;
    counter.window.refund(requests, 1, this.#atMs, nowMs);
    if (this.#moment !== undefined) counter.shared?.refund(this.#moment, nowMs);
    counter.touch();
  }

  /** Notes that the caller has counted the request again at `atMs` (Unix milliseconds), in exactly these windows. */
  recount(windows: MatchedCounters, atMs: number, moment?: Moment): void {
    this.#moment = moment;
    this.#windows = windows;
    this.#atMs = atMs;
    this.#isCounted = true;
  }
}

const nothingReserved: SetAside[] = [];
