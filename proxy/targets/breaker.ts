// The circuit breaker of a target: while it fails, it is asked last, and one request after a pause finds out whether it works again.
import { OutcomeWindow } from './outcome-window.ts';

/** So many failures one after the other open it. */
const mostInARow = 5;
/** So does this share of at least so many calls of the last ten seconds. */
const worstRatio = 1 / 2;
const leastCalls = 20;
/** How long it stays open at first, and at most: each probe that fails doubles the time. Milliseconds. */
const firstOpenMs = 1000;
const longestOpenMs = 15_000;
/** A probe without an outcome after this time no longer keeps others from trying. Milliseconds. */
const probeLifeMs = 15_000;

export type BreakerState = 'closed' | 'half_open' | 'open';

/** What opened a breaker last. */
export interface OpeningCause {
  readonly failuresInARow: number;
  /** Of the last ten seconds. */
  readonly failures: number;
  readonly calls: number;
}

/**
 * A machine of three states, all moments in milliseconds of one clock. What becomes of a call while the breaker is open changes
 * nothing: it was begun before, or was a last resort.
 */
export class Breaker {
  /** How often it went into each state; half-open counts when its probe begins. */
  readonly transitions: Record<BreakerState, number> = { closed: 0, half_open: 0, open: 0 };
  /** Undefined before it opened for the first time. */
  cause: OpeningCause | undefined;
  readonly #window = new OutcomeWindow();
  #failuresInARow = 0;
  #isClosed = true;
  #openUntilMs = 0;
  #openForMs = firstOpenMs;
  #probeUntilMs = 0;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  state(nowMs: number): BreakerState {
    if (this.#isClosed) return 'closed';
    return nowMs < this.#openUntilMs ? 'open' : 'half_open';
  }

  /** Whether a request may go there: always while closed, and one while half-open. */
  admits(nowMs: number): boolean {
    return this.#isClosed || (nowMs >= this.#openUntilMs && nowMs >= this.#probeUntilMs);
  }

  /** The earliest moment at which it admits a request if nothing happens; the past while it does. */
  admitsAtMs(): number {
    return this.#isClosed ? 0 : Math.max(this.#openUntilMs, this.#probeUntilMs);
  }

  /** A call begins, admitted or as a last resort. */
  begin(nowMs: number): void {
    if (this.#isClosed || !this.admits(nowMs)) return;
    this.#probeUntilMs = nowMs + probeLifeMs;
    this.transitions.half_open += 1;
  }

  /** The target did what it was asked for. */
  succeeded(nowMs: number): void {
    if (this.#isClosed) {
      this.#failuresInARow = 0;
      this.#window.add(false, nowMs);
    } else if (this.#isProbing(nowMs)) this.#close();
  }

  /** The target could not be reached, did not answer, or answered with a failure of its own. */
  failed(nowMs: number): void {
    if (this.#isClosed) {
      this.#failuresInARow += 1;
      this.#window.add(true, nowMs);
      this.#openWhenBad(nowMs);
    } else if (this.#isProbing(nowMs)) {
      this.#openForMs = Math.min(this.#openForMs * 2, longestOpenMs);
      this.#open(nowMs);
    }
  }

  /** The call says nothing about the target: 429, another 4xx, or the client broke it off. The next request may probe. */
  released(nowMs: number): void {
    if (this.#isProbing(nowMs)) this.#probeUntilMs = 0;
  }

  #isProbing(nowMs: number): boolean {
    return nowMs >= this.#openUntilMs && this.#probeUntilMs > 0;
  }

  #openWhenBad(nowMs: number): void {
    const failures = this.#window.failures(nowMs);
    const calls = this.#window.calls(nowMs);
    const isBad = calls >= leastCalls && failures >= calls * worstRatio;
    if (!isBad && this.#failuresInARow < mostInARow) return;
    this.cause = { failuresInARow: this.#failuresInARow, failures, calls };
    this.#openForMs = firstOpenMs;
    this.#open(nowMs);
  }

  #open(nowMs: number): void {
    this.#isClosed = false;
    this.#openUntilMs = nowMs + this.#openForMs;
    this.#probeUntilMs = 0;
    this.transitions.open += 1;
  }

  #close(): void {
    this.#isClosed = true;
    this.#failuresInARow = 0;
    this.#window.clear();
    this.transitions.closed += 1;
  }
}
