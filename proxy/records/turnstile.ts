// How many of something pass in a second: what strangers do must not fill what is kept of all requests.

/** Lets so many pass in each second. */
export class Turnstile {
  readonly #most: number;
  #second = 0;
  #passed = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether one more may pass. `nowMs`: milliseconds of the gateway's clock. */
  lets(nowMs: number): boolean {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#passed = 0;
    }
    this.#passed += 1;
    return this.#passed <= this.#most;
  }
}
