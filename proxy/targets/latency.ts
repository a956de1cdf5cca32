// How long a target takes to its first byte: a mean of the last seconds, and a high percentile.
import { Percentile } from './percentile.ts';

/** The age, in milliseconds, at which an observation counts 1/e. */
const decayMs = 10_000;

/** A stream begins long before a whole answer is there, so their percentiles are kept apart. */
export class Latency {
  #sum = 0;
  #weight = 0;
  #lastMs = 0;
  readonly #whole = new Percentile();
  readonly #streams = new Percentile();

  /** The first byte came after `ms`; the gateway's clock stands at `nowMs`. `counted`: what the percentile takes it for. */
  observe(ms: number, nowMs: number, isStream: boolean, counted: number = ms): void {
    const kept = Math.exp(-Math.max(0, nowMs - this.#lastMs) / decayMs);
    this.#sum = this.#sum * kept + ms;
    this.#weight = this.#weight * kept + 1;
    this.#lastMs = Math.max(this.#lastMs, nowMs);
    if (isStream) this.#streams.observe(counted);
    else this.#whole.observe(counted);
  }

  /** It would have come later than after `ms`. */
  observeOutrun(ms: number, nowMs: number, isStream: boolean): void {
    // In the percentile it counts as slow and no more: the next hedge would wait for longer because of the one before.
    this.observe(ms, nowMs, isStream, Math.min(ms, this.p95(isStream) ?? ms));
  }

  /** Milliseconds, of streams and whole answers; later observations weigh more. Undefined before the first. */
  mean(): number | undefined {
    return this.#weight === 0 ? undefined : this.#sum / this.#weight;
  }

  /** Milliseconds within which 95 of 100 first bytes came, as `percentile` says it. */
  p95(isStream: boolean): number | undefined {
    return this.percentile(95, isStream);
  }

  /** Milliseconds within which so many of 100 first bytes came, at most 12 % too high. Undefined before 20 observations. */
  percentile(percent: number, isStream: boolean): number | undefined {
    return (isStream ? this.#streams : this.#whole).at(percent);
  }
}
