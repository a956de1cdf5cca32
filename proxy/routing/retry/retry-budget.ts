// How many calls may be made beyond the first of each request: a provider that fails must not be called ever more often for it.
import { OutcomeWindow } from '../../targets/outcome-window.ts';

/** The number of further calls that are always allowed, so that a single request can fail over. */
const usualFloor = 10;

/** The share of requests that may be called once more. */
export const usualShare = 0.2;

/** In any ten seconds at most a few calls (`floor`) and a share of the requests. The clock is an argument, in milliseconds. */
export class RetryBudget {
  readonly #floor: number;
  /** A further call counts as a failure, because a request needed more than one. */
  readonly #window = new OutcomeWindow();

  constructor(floor = usualFloor) {
    this.#floor = floor;
  }

  /** A request begins. */
  note(nowMs: number): void {
    this.#window.add(false, nowMs);
  }

  /** Whether a further call is allowed. `share`: of the requests. */
  allows(share: number, nowMs: number): boolean {
    const extras = this.#window.failures(nowMs);
    const requests = this.#window.calls(nowMs) - extras;
    return extras + 1 <= this.#floor + share * requests;
  }

  /** A further call is made. */
  spend(nowMs: number): void {
    this.#window.add(true, nowMs);
  }
}
