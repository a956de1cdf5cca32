// The state of one target between requests.
import type { TargetTrouble } from '../../domain/targets/failure-kind.ts';
import { Breaker } from './breaker.ts';
import { Latency } from './latency.ts';
import { LearnedQuotas, type RememberedKey } from './learned-quotas.ts';
import { OutcomeWindow } from './outcome-window.ts';
import { longestRestMs } from './rest-times.ts';

/**
 * Why others are preferred to a target. Half-open: one request will find out whether it works again. Resting: the provider asked to be left
 * alone.
 */
export type Obstacle = 'breaker_open' | 'breaker_half_open' | RestCause | 'quota_used_up';

/** Why a target rests. */
export type RestCause = 'resting' | TargetTrouble;

/** An obstacle, and since when it is known, in Unix milliseconds; undefined where that is not remembered. */
export interface KnownObstacle {
  readonly reason: Obstacle;
  readonly sinceMs: number | undefined;
}

/** Calls are shown for the last ten of these. Milliseconds. */
const shownSliceMs = 6_000;

/** Moments in Unix milliseconds. */
export class TargetState {
  readonly breaker = new Breaker();
  readonly latency = new Latency();
  readonly quota = new LearnedQuotas();
  /** The calls of the last minute, to be shown. */
  readonly calls = new OutcomeWindow(shownSliceMs);
  /** Requests that this proxy has sent it and that are not over: see `TargetLoop` and `settle`. */
  open = 0;
  /** Calls that were cancelled because another target was faster, since the last one that was answered. */
  outrunsInARow = 0;
  #restsUntilMs = 0;
  /** Of the last rest. */
  #cause: RestCause = 'resting';
  /** When the first rest for this cause began; undefined: a call was served since. */
  #causeSinceMs: number | undefined;

  /** Until when the provider is left alone; the past when it is not. */
  get restsUntilMs(): number {
    return this.#restsUntilMs;
  }

  /** Leaves the target alone until then, but for at most a minute from now. A longer rest stays. */
  rest(untilMs: number, nowMs: number, cause: RestCause = 'resting'): void {
    if (cause !== this.#cause) this.#causeSinceMs = undefined;
    this.#cause = cause;
    this.#causeSinceMs ??= Math.floor(nowMs);
    this.#restsUntilMs = Math.max(this.#restsUntilMs, Math.min(untilMs, nowMs + longestRestMs));
  }

  /** From now on the provider has these keys. What was against the former ones says nothing of a new one. */
  keep(keys: readonly RememberedKey[] | undefined): void {
    const hasNew = this.quota.keep(keys);
    if (hasNew && (this.#cause === 'key_refused' || this.#cause === 'account_used_up')) this.served();
  }

  /** A call was served: what the provider said of a key, an account or a model has ended. A rest that it asked for stays. */
  served(): void {
    if (this.#cause !== 'resting') this.#restsUntilMs = 0;
    this.#causeSinceMs = undefined;
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

  /** The obstacle that matters most: its breaker, its keys, a rest, what it has used up; undefined when there is none. */
  obstacle(nowMs: number): KnownObstacle | undefined {
    const breaker = this.breaker.state(nowMs);
    if (breaker !== 'closed')
      return { reason: breaker === 'open' ? 'breaker_open' : 'breaker_half_open', sinceMs: undefined };
    const trouble = this.quota.keyTrouble();
    if (trouble !== undefined) return { reason: trouble.kind, sinceMs: trouble.sinceMs };
    // What a provider says of a key, an account or a model stands until a call shows otherwise.
    const stands = this.#cause !== 'resting' && this.#causeSinceMs !== undefined;
    if (stands || nowMs < this.#restsUntilMs) return { reason: this.#cause, sinceMs: this.#causeSinceMs };
    return this.quota.isUsedUp(nowMs) ? { reason: 'quota_used_up', sinceMs: undefined } : undefined;
  }
}
