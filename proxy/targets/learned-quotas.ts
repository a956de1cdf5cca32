// What is known of a provider's limits for a target, key by key: each API key has limits of its own.
import { LearnedQuota, type QuotaDimension, type QuotaHeaders } from './learned-quota.ts';

/** Of a provider with one key. */
const onlyPosition = 1;

/** Keys are known by their position in the configuration, from 1. Moments in Unix milliseconds. */
export class LearnedQuotas {
  readonly #byKey = new Map<number, LearnedQuota>();
  #keyCount = 1;

  /** From now on the provider has these keys. */
  keep(positions: readonly number[]): void {
    this.#keyCount = positions.length;
    for (const position of this.#byKey.keys()) if (!positions.includes(position)) this.#byKey.delete(position);
  }

  /** Reads the limits in the head of an answer to a call with this key. */
  learn(head: QuotaHeaders, nowMs: number, position: number = onlyPosition): void {
    if (head.quota === undefined) return;
    let quota = this.#byKey.get(position);
    if (quota === undefined) {
      quota = new LearnedQuota();
      this.#byKey.set(position, quota);
    }
    quota.learn(head, nowMs);
  }

  /** Knows nothing again. */
  forget(): void {
    this.#byKey.clear();
  }

  /** Whether the next call is likely to be refused, whichever key is used. */
  isUsedUp(nowMs: number): boolean {
    return nowMs < this.usedUpUntilMs;
  }

  /** The same of one key. */
  isKeyUsedUp(position: number, nowMs: number): boolean {
    return this.#byKey.get(position)?.isUsedUp(nowMs) ?? false;
  }

  /** When some key stops being used up; the past when one is not, or nothing is known of it. */
  get usedUpUntilMs(): number {
    if (this.#byKey.size < this.#keyCount) return 0;
    let soonest = Number.POSITIVE_INFINITY;
    for (const quota of this.#byKey.values()) soonest = Math.min(soonest, quota.usedUpUntilMs);
    return soonest;
  }

  /** How much of the tightest limit is used with the best key, from 0 (nothing, or nothing is known) to 1. */
  pressure(nowMs: number): number {
    if (this.#byKey.size < this.#keyCount) return 0;
    let least = 1;
    for (const quota of this.#byKey.values()) least = Math.min(least, quota.pressure(nowMs));
    return least;
  }

  /** What is known to be left now, by dimension, of all keys together. */
  remaining(nowMs: number): ReadonlyMap<QuotaDimension, number> {
    const sums = new Map<QuotaDimension, number>();
    for (const quota of this.#byKey.values()) {
      for (const [dimension, count] of quota.remaining(nowMs)) sums.set(dimension, (sums.get(dimension) ?? 0) + count);
    }
    return sums;
  }
}
