// The learned limits of a provider for a target, by key: each API key has limits of its own.
import { LearnedQuota, type QuotaDimension, type QuotaHeaders } from './learned-quota.ts';

/** A key as it is remembered, whatever its place in the configuration. */
export interface RememberedKey {
  /** It is not used until then, if another one can be. */
  readonly restsUntilMs: number;
  /** Absent: its last answer said nothing against it. */
  readonly trouble?: KeyTrouble | undefined;
}

/** Why a provider serves nothing for a key, and since when, in Unix milliseconds. It stands until an answer shows otherwise. */
export interface KeyTrouble {
  /** `key_refused`: 401. `account_used_up`: 402, or words about money. */
  readonly kind: 'key_refused' | 'account_used_up';
  readonly sinceMs: number;
}

/** Of a provider with one key. */
const onlyKey: RememberedKey = { restsUntilMs: 0 };

/** Moments in Unix milliseconds. */
export class LearnedQuotas {
  #keys: readonly RememberedKey[] = [onlyKey];
  readonly #byKey = new Map<RememberedKey, LearnedQuota>();

  /** From now on the provider has these keys. Whether one of them is new. */
  keep(keys: readonly RememberedKey[] = [onlyKey]): boolean {
    const former = this.#keys;
    this.#keys = keys;
    for (const key of this.#byKey.keys()) if (!keys.includes(key)) this.#byKey.delete(key);
    return keys.some((key) => !former.includes(key));
  }

  /** Reads the limits in the head of an answer to a call with this key. A late answer of a key that is gone says nothing. */
  learn(head: QuotaHeaders, nowMs: number, key: RememberedKey = onlyKey): void {
    if (head.quota === undefined) return;
    let quota = this.#byKey.get(key);
    if (quota === undefined) {
      if (!this.#keys.includes(key)) return;
      quota = new LearnedQuota();
      this.#byKey.set(key, quota);
    }
    quota.learn(head, nowMs);
  }

  /** Knows nothing again. */
  forget(): void {
    this.#byKey.clear();
  }

  /** Of a provider that serves nothing for any of the keys: the trouble of the key that worked last. */
  keyTrouble(): KeyTrouble | undefined {
    let last: KeyTrouble | undefined;
    for (const { trouble } of this.#keys) {
      if (trouble === undefined) return undefined;
      if (last === undefined || trouble.sinceMs > last.sinceMs) last = trouble;
    }
    return last;
  }

  /** Whether the next call is likely to be refused, whichever key is used. */
  isUsedUp(nowMs: number): boolean {
    return this.#byKey.size > 0 && nowMs < this.usedUpUntilMs(nowMs);
  }

  /** Whether the quota of one key is used up. */
  isKeyUsedUp(key: RememberedKey, nowMs: number): boolean {
    return this.#byKey.get(key)?.isUsedUp(nowMs) ?? false;
  }

  /** When some key that can be used stops being used up; the past when one is not, or nothing is known of it. */
  usedUpUntilMs(nowMs: number): number {
    let soonest = Number.POSITIVE_INFINITY;
    for (const key of this.#keys) {
      if (key.restsUntilMs <= nowMs) soonest = Math.min(soonest, this.#byKey.get(key)?.usedUpUntilMs ?? 0);
    }
    // While all rest, the provider is asked with one of them all the same.
    return soonest === Number.POSITIVE_INFINITY ? 0 : soonest;
  }

  /** How much of the tightest limit is used with the best key, from 0 (nothing, or nothing is known) to 1. */
  pressure(nowMs: number): number {
    let least = 1;
    for (const key of this.#keys) least = Math.min(least, this.#byKey.get(key)?.pressure(nowMs) ?? 0);
    return least;
  }

  /** The known remaining amounts of all keys together, by dimension. */
  remaining(nowMs: number): ReadonlyMap<QuotaDimension, number> {
    const sums = new Map<QuotaDimension, number>();
    for (const quota of this.#byKey.values()) {
      for (const [dimension, count] of quota.remaining(nowMs)) sums.set(dimension, (sums.get(dimension) ?? 0) + count);
    }
    return sums;
  }

  /**
   * The remaining amounts and the limits of all keys together; the limit is undefined where a key has none reported.
   */
  limits(nowMs: number): ReadonlyMap<QuotaDimension, readonly [remaining: number, limit: number | undefined]> {
    const sums = new Map<QuotaDimension, readonly [number, number | undefined]>();
    for (const quota of this.#byKey.values()) {
      for (const [dimension, remaining, limit] of quota.limits(nowMs)) {
        const [left, all] = sums.get(dimension) ?? [0, 0];
        sums.set(dimension, [left + remaining, all === undefined || limit === undefined ? undefined : all + limit]);
      }
    }
    return sums;
  }
}
