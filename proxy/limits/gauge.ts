// Requests in flight under one rule: a number that leases raise and lower. Never stored, never reset while a request is open.

/** Slots of a concurrency rule. Each lease takes at most one and gives it back at most once, so the count cannot fall below 0. */
export class Gauge {
  #inFlight = 0;

  get inFlight(): number {
    return this.#inFlight;
  }

  take(): void {
    this.#inFlight += 1;
  }

  giveBack(): void {
    this.#inFlight -= 1;
  }
}
