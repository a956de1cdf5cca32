// Requests that are open on the clock of the traffic: each is settled at its end, as the gateway would.
import TinyQueue from 'tinyqueue';

interface Open {
  readonly endMs: number;
  readonly settle: (nowMs: number) => void;
}

export class OpenRequests {
  readonly #open = new TinyQueue<Open>([], (one, other) => one.endMs - other.endMs);

  /** `settle` is called once the clock has come to `endMs` (whole Unix milliseconds). */
  add(endMs: number, settle: Open['settle']): void {
    this.#open.push({ endMs, settle });
  }

  /** Settles what has ended by `nowMs`, in the order of their ends. */
  settleUntil(nowMs: number): void {
    for (let first = this.#open.peek(); first !== undefined && first.endMs <= nowMs; first = this.#open.peek()) {
      this.#open.pop();
      first.settle(first.endMs);
    }
  }
}
