// Counts what a load client sees, in typed arrays, and says it in a few figures.
import type { LoadResult } from './slice.ts';

/** Numbers in the order they came, and their quantiles. */
export class Quantiles {
  #values = new Float64Array(4096);
  #count = 0;

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const wider = new Float64Array(this.#count * 2);
      wider.set(this.#values);
      this.#values = wider;
    }
    this.#values[this.#count] = value;
    this.#count += 1;
  }

  /** The values at the given shares (0.5 is the median); 0 when there are none. */
  at(shares: readonly number[]): number[] {
    const sorted = this.#values.slice(0, this.#count).sort();
    return shares.map((share) => sorted[Math.floor((this.#count - 1) * share)] ?? 0);
  }
}

/** One slice of load under way. `events`: how many events a whole answer has; other counts are failures. */
export class Tally {
  readonly #expectedEvents: number;
  readonly #ms = new Quantiles();
  readonly #firstMs = new Quantiles();
  readonly #startMs: number;
  requests = 0;
  failures = 0;
  #events = 0;
  #bytes = 0;

  constructor(expectedEvents: number, startMs: number) {
    this.#expectedEvents = expectedEvents;
    this.#startMs = startMs;
  }

  first(ms: number): void {
    this.#firstMs.add(ms);
  }

  /** A complete answer, `ms` after its request was due. */
  answer({ status, events, bytes }: { status: number; events: number; bytes: number }, ms: number): void {
    this.requests += 1;
    this.#events += events;
    this.#bytes += bytes;
    this.#ms.add(ms);
    if (status < 200 || status > 299 || events !== this.#expectedEvents) this.failures += 1;
  }

  result(nowMs: number): LoadResult {
    const [p50Ms = 0, p90Ms = 0, p99Ms = 0, p999Ms = 0] = this.#ms.at([0.5, 0.9, 0.99, 0.999]);
    const [firstP50Ms = 0, firstP99Ms = 0] = this.#firstMs.at([0.5, 0.99]);
    return {
      requests: this.requests,
      events: this.#events,
      seconds: (nowMs - this.#startMs) / 1000,
      p50Ms,
      p90Ms,
      p99Ms,
      p999Ms,
      firstP50Ms,
      firstP99Ms,
      failures: this.failures,
      meanBytes: this.requests === 0 ? 0 : this.#bytes / this.requests,
    };
  }
}
