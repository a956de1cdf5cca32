// How many calls may be made beyond the first of each request: a provider that fails must not be called ever more often for it.

/** The budget looks back over this many slices. */
const slices = 10;
const sliceMs = 1000;
/** So many further calls are always allowed, so that a single request can fail over. */
const floor = 10;

/** The share of requests that may be called once more. */
export const usualShare = 0.2;

/** In any ten seconds at most ten calls and a share of the requests. The clock is an argument, in milliseconds. */
export class RetryBudget {
  readonly #requests = new Float64Array(slices);
  readonly #extras = new Float64Array(slices);
  #slice = 0;
  #requestsSum = 0;
  #extrasSum = 0;

  /** A request begins. */
  note(nowMs: number): void {
    this.#advance(nowMs);
    const at = this.#slice % slices;
    this.#requests[at] = (this.#requests[at] ?? 0) + 1;
    this.#requestsSum += 1;
  }

  /** Whether a further call is allowed; it is counted then. `share`: of the requests. */
  take(share: number, nowMs: number): boolean {
    this.#advance(nowMs);
    if (this.#extrasSum + 1 > floor + share * this.#requestsSum) return false;
    const at = this.#slice % slices;
    this.#extras[at] = (this.#extras[at] ?? 0) + 1;
    this.#extrasSum += 1;
    return true;
  }

  /** Forgets what is older than the slices. A clock that stands still or goes back forgets nothing. */
  #advance(nowMs: number): void {
    const slice = Math.floor(nowMs / sliceMs);
    if (slice <= this.#slice) return;
    const passed = Math.min(slice - this.#slice, slices);
    for (let step = 1; step <= passed; step += 1) {
      const at = (this.#slice + step) % slices;
      this.#requestsSum -= this.#requests[at] ?? 0;
      this.#extrasSum -= this.#extras[at] ?? 0;
      this.#requests[at] = 0;
      this.#extras[at] = 0;
    }
    this.#slice = slice;
  }
}
