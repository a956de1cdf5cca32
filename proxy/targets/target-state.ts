// The state of one target between requests.
import { Breaker } from './breaker.ts';
import { Latency } from './latency.ts';
import { LearnedQuotas } from './learned-quotas.ts';
import { OutcomeWindow } from './outcome-window.ts';
import { longestRestMs } from './rest-times.ts';

/** Why others are preferred to a target. Half-open: one request will find out whether it works again. */
export type Obstacle = 'breaker_open' | 'breaker_half_open' | 'resting' | 'quota_used_up';

/** Calls are shown for the last ten of these. Milliseconds. */
const shownSliceMs = 6_000;

/** Moments in Unix milliseconds. */
export class TargetState {
  readonly breaker = new Breaker();
  readonly latency = new Latency();
  readonly quota = new LearnedQuotas();
  /** The calls of the last minute, to be shown. */
  readonly calls = new OutcomeWindow(shownSliceMs);
  /** Calls that were cancelled because another target was faster, since the last one that was answered. */
  outrunsInARow = 0;
  #restsUntilMs = 0;

  /** Until when the provider asked to be left alone; the past when it does not. */
  get restsUntilMs(): number {
    return this.#restsUntilMs;
  }

  /** Leaves the target alone until then, but for at most a minute from now. A longer rest stays. */
  rest(untilMs: number, nowMs: number): void {
    this.#restsUntilMs = Math.max(this.#restsUntilMs, Math.min(untilMs, nowMs + longestRestMs));
  }

  /** Whether a call is likely to be served; of a half-open breaker, true for one call. */
  isUsable(nowMs: number): boolean {
    return nowMs >= this.#restsUntilMs && !this.quota.isUsedUp(nowMs) && this.breaker.admits(nowMs);
  }

  /** The earliest moment at which it is usable, if nothing happens until then. */
  usableAtMs(nowMs: number): number {
    return Math.max(nowMs, this.#restsUntilMs, this.quota.usedUpUntilMs(nowMs), this.breaker.admitsAtMs());
  }

  /** Something is known of it. */
  get wasAsked(): boolean {
    return this.#restsUntilMs > 0 || this.breaker.transitions.open > 0 || this.latency.mean() !== undefined;
  }

  /** The obstacle that matters most: its breaker, a rest, what it has used up; undefined when there is none. */
  obstacle(nowMs: number): Obstacle | undefined {
    const breaker = this.breaker.state(nowMs);
    if (breaker !== 'closed') return breaker === 'open' ? 'breaker_open' : 'breaker_half_open';
    if (nowMs < this.#restsUntilMs) return 'resting';
    return this.quota.isUsedUp(nowMs) ? 'quota_used_up' : undefined;
  }
}
