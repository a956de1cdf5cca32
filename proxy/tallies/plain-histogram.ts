// A histogram of plain numbers, for what every request observes: prom-client hashes the labels each time, which costs 5 µs a request.
import type { Exposition } from './exposition.ts';

/** One series: counts by bucket, and the sum. */
export class PlainHistogram {
  readonly #bounds: readonly number[];
  /** How many values lie between each bound and the one before it; the last: beyond all bounds. */
  readonly #counts: Float64Array;
  #sum = 0;

  /** `bounds`: upper bounds of the buckets, ascending. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }

  /** Writes the samples of the histogram `name`, buckets first, or none when nothing was observed; says how many. */
  write(to: Exposition, name: string, labels: Readonly<Record<string, string>>): number {
    const count = this.#counts.reduce((sum, each) => sum + each, 0);
    if (count === 0) return 0;
    let total = 0;
    for (const [index, each] of this.#counts.entries()) {
      total += each;
      to.sample(`${name}_bucket`, { le: String(this.#bounds[index] ?? '+Inf'), ...labels }, total);
    }
    to.sample(`${name}_sum`, labels, this.#sum);
    to.sample(`${name}_count`, labels, count);
    return this.#counts.length + 2;
  }
}
