// The circuit breaker of a target: while it fails, it is asked last, and one request after a pause finds out whether it works again.
import { OutcomeWindow } from './outcome-window.ts';

/** The number of failures in a row that open it. */
const mostInARow = 5;
/** The share of failures that opens it, of at least `leastCalls` calls in the last ten seconds. */
const worstRatio = 1 / 2;
const leastCalls = 20;
/** How long it stays open at first, and at most: each probe that fails doubles the time. Milliseconds. */
const firstOpenMs = 1000;
const longestOpenMs = 15_000;
/** A probe without an outcome after this time no longer keeps others from trying. Milliseconds. */
const probeLifeMs = 15_000;

export type BreakerState = 'closed' | 'half_open' | 'open';

/** The cause of the last opening. */
export interface OpeningCause {
  readonly failuresInARow: number;
  /** Of the last ten seconds. */
  readonly failures: number;
  readonly calls: number;
}

/**
 * The role of a call for the breaker: one of many, a last resort while it is open, or (above 0) the probe with this
 * number.
 */
export type CallRole = number;
export const usualCall: CallRole = 0;
const lastResort: CallRole = -1;

export function isProbe(role: CallRole): boolean {
  return role > 0;
}

/**
 * A machine of three states, all moments in milliseconds of one clock. While it is not closed, only its probe decides, and a last resort
 * that went well: what was begun before says nothing about now.
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
  /** The number of the probe under way; 0: there is none. */
  #probe = 0;
  #probes = 0;

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

  /** A call begins, admitted or as a last resort. Its role is needed when it ends. */
  begin(nowMs: number): CallRole {
    if (this.#isClosed) return usualCall;
    if (!this.admits(nowMs)) return lastResort;
    this.#probeUntilMs = nowMs + probeLifeMs;
    this.transitions.half_open += 1;
    this.#probes += 1;
    this.#probe = this.#probes;
    return this.#probe;
  }

  /** The target did what it was asked for. */
  succeeded(nowMs: number, role: CallRole = usualCall): void {
    if (this.#isClosed) {
      this.#failuresInARow = 0;
      this.#window.add(false, nowMs);
    } else if (this.#isProbe(role)) this.#close();
    // The next request finds out whether that was more than luck.
    else if (role === lastResort) this.#openUntilMs = Math.min(this.#openUntilMs, nowMs);
  }

  /** The target could not be reached, did not answer, or answered with a failure of its own. */
  failed(nowMs: number, role: CallRole = usualCall): void {
    if (this.#isClosed) {
      this.#failuresInARow += 1;
      this.#window.add(true, nowMs);
      this.#openWhenBad(nowMs);
    } else if (this.#isProbe(role)) {
      this.#openForMs = Math.min(this.#openForMs * 2, longestOpenMs);
      this.#open(nowMs);
    }
  }

  /**
   * An active probe has an outcome, without a request of a client. A failure counts as one of a call. A success closes the breaker; where it says nothing of
   * the model (`isOfModel` false), the next request finds out at once.
   */
  probed(nowMs: number, { isUp, isOfModel }: { readonly isUp: boolean; readonly isOfModel: boolean }): void {
    if (!isUp) this.failed(nowMs);
    else if (!this.#isClosed && isOfModel) this.#close();
    else if (!this.#isClosed) this.#openUntilMs = Math.min(this.#openUntilMs, nowMs);
  }

  /** The call says nothing about the target: 429, another 4xx, or the client broke it off. The next request may probe. */
  released(role: CallRole): void {
    if (!this.#isClosed && this.#isProbe(role)) this.#endProbe();
  }

  #isProbe(role: CallRole): boolean {
    return role > 0 && role === this.#probe;
  }

  #endProbe(): void {
    this.#probe = 0;
    this.#probeUntilMs = 0;
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
    this.#endProbe();
    this.transitions.open += 1;
  }

  #close(): void {
    this.#isClosed = true;
    this.#endProbe();
    this.#failuresInARow = 0;
    this.#window.clear();
    this.transitions.closed += 1;
  }
}
