// A high percentile of durations in a few hundred bytes.

/** It is of the last 200 to 400 observations: at this number, all counts are halved. */
const mostCounted = 400;
const leastObserved = 20;
/** Six buckets for each doubling, from 1 ms to 17 minutes: a bucket is 12 % wide. */
const bucketsPerDoubling = 6;
const bucketCount = 20 * bucketsPerDoubling;

/** Durations in milliseconds. */
export class Percentile {
  #buckets: Uint16Array | undefined;
  #counted = 0;
  /** What was asked last. */
  #known: { readonly percent: number; readonly ms: number } | undefined;

  observe(ms: number): void {
    this.#buckets ??= new Uint16Array(bucketCount);
    const bucket = bucketOf(ms);
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#counted += 1;
    if (this.#counted >= mostCounted) this.#halve(this.#buckets);
    this.#known = undefined;
  }

  /** `percent` of 100 took at most so long; the true figure is up to 12 % lower. Undefined before 20 observations. */
  at(percent: number): number | undefined {
    if (this.#buckets === undefined || this.#counted < leastObserved) return undefined;
    if (this.#known?.percent !== percent)
      this.#known = { percent, ms: percentile(this.#buckets, (this.#counted * percent) / 100) };
    return this.#known.ms;
  }

  #halve(buckets: Uint16Array): void {
    this.#counted = 0;
    for (const [bucket, count] of buckets.entries()) {
      buckets[bucket] = count >> 1;
      this.#counted += count >> 1;
    }
  }
}

function bucketOf(ms: number): number {
  return ms <= 1 ? 0 : Math.min(Math.ceil(Math.log2(ms) * bucketsPerDoubling), bucketCount - 1);
}

/** The upper bound of the bucket in which the observation of this rank lies. */
function percentile(buckets: Uint16Array, rank: number): number {
  let seen = 0;
  let bucket = 0;
  for (; bucket < buckets.length - 1; bucket += 1) {
    seen += buckets[bucket] ?? 0;
    if (seen >= rank) break;
  }
  return 2 ** (bucket / bucketsPerDoubling);
}
