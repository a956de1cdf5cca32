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
  #p95: number | undefined;

  observe(ms: number): void {
    this.#buckets ??= new Uint16Array(bucketCount);
    const bucket = bucketOf(ms);
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#counted += 1;
    if (this.#counted >= mostCounted) this.#halve(this.#buckets);
    this.#p95 = undefined;
  }

  /** 95 of 100 took at most so long; the true figure is up to 12 % lower. Undefined before 20 observations. */
  p95(): number | undefined {
    if (this.#buckets === undefined || this.#counted < leastObserved) return undefined;
    this.#p95 ??= percentile(this.#buckets, this.#counted * 0.95);
    return this.#p95;
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
