// Keeps the credential of one source in force: it is renewed ahead of its end, off the path of requests. While that fails, the last one
// serves until it ends.
import { timestamp } from '../../domain/timestamp.ts';
import { boundedFetch } from './bounded-fetch.ts';
import type { Credential, IssuedCredential, TokenSource } from './token-source.ts';

/** A credential in force. Moments in milliseconds of the gateway's clock. */
export interface HeldCredential {
  readonly credential: Credential;
  /** Infinity: it has no end. */
  readonly endsAtMs: number;
  readonly issuedAtMs: number;
  readonly principal: string | undefined;
  /** How far the clock of the issuer is ahead of ours. 0: it is not, or that is unknown. Milliseconds. */
  readonly clockAheadMs: number;
}

/** How long things take, in milliseconds. */
export interface Pace {
  /** The longest question to a source. */
  readonly attempt: number;
  /** Between two questions, at the least while they fail; half of the time for which they have failed, if that is longer. */
  readonly firstPause: number;
  readonly longestPause: number;
  /** How often a credential without an end is asked for again: its file may have changed. */
  readonly endless: number;
}

export const usualPace: Pace = { attempt: 10_000, firstPause: 1_000, longestPause: 10_000, endless: 900_000 };

export interface RenewalParts {
  /** Milliseconds of the gateway's clock: wall time at start, then monotonic. */
  readonly nowMs: () => number;
  /** 0 to 1. */
  readonly random: () => number;
  readonly pace: Pace;
  /** A question has ended. `before`: what was in force. Never throws. */
  readonly ended: (outcome: RenewalOutcome) => void;
}

/** `problem`: a sentence without a secret; undefined: there is a new credential. */
export interface RenewalOutcome {
  readonly problem: string | undefined;
  /** How many questions failed in a row, with this one; before this one, when it went well. */
  readonly failures: number;
  readonly held: HeldCredential | undefined;
}

/** The end of a credential is approached by at most so much. Milliseconds. */
const longestMarginMs = 300_000;
/** At the least between two questions: an issuer may give the same credential again until shortly before its end. Milliseconds. */
const shortestPauseMs = 250;
/** An issuer has so much time in any case. Milliseconds. */
const shortestAttemptMs = 500;
/** How long a credential is taken for good that had ended by our own clock when it was issued: that clock is wrong. Milliseconds. */
const presumedLifeMs = 300_000;
/** A refusal by the provider asks for another credential at most this often. Milliseconds. */
const refusedEveryMs = 10_000;

export class Renewal {
  readonly #source: TokenSource;
  readonly #parts: RenewalParts;
  #held: HeldCredential | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: AbortController | undefined;
  #isStopped = false;
  #failures = 0;
  #failingSinceMs = 0;
  #problem: string | undefined;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #nextAtMs = 0;
  readonly #first = Promise.withResolvers<void>();

  constructor(source: TokenSource, parts: RenewalParts) {
    this.#source = source;
    this.#parts = parts;
  }

  /** The credential in force; undefined: there is none, or it has ended. */
  get held(): HeldCredential | undefined {
    const held = this.#held;
    return held !== undefined && held.endsAtMs > this.#parts.nowMs() ? held : undefined;
  }

  /** The last credential, although it may have ended. */
  get last(): HeldCredential | undefined {
    return this.#held;
  }

  /** Why the last question failed; undefined: it did not. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** When the first question has ended, whatever came of it. */
  get settled(): Promise<void> {
    return this.#first.promise;
  }

  /** Asks now, unless it is being asked. */
  renew(): void {
    if (this.#isStopped || this.#running !== undefined) return;
    clearTimeout(this.#timer);
    void this.#ask();
  }

  /** The provider refuses the credential in force: it may have been revoked. */
  refused(): void {
    if (this.#parts.nowMs() >= this.#askedAtMs + refusedEveryMs) this.renew();
  }

  /** When the next question is due; in the past while one is open. Milliseconds of the gateway's clock. */
  get nextAtMs(): number {
    return this.#nextAtMs;
  }

  /** Asks no more; the question that is open ends. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#running?.abort(new Error('it is no longer configured'));
    this.#first.resolve();
  }

  async #ask(): Promise<void> {
    const { nowMs } = this.#parts;
    const running = new AbortController();
    this.#running = running;
    const askedAtMs = nowMs();
    this.#askedAtMs = askedAtMs;
    let pauseMs: number;
    try {
      const issued = await boundedFetch(this.#source, this.#longestAttempt(), running.signal);
      this.#held = this.#taken(issued, askedAtMs);
      pauseMs = this.#untilRenewal(this.#held);
      this.#ended(undefined);
      this.#failures = 0;
    } catch (error) {
      if (this.#failures === 0) this.#failingSinceMs = askedAtMs;
      this.#failures += 1;
      pauseMs = this.#backoff();
      if (!this.#isStopped) this.#ended(error instanceof Error ? error.message : String(error));
    }
    this.#running = undefined;
    this.#first.resolve();
    if (this.#isStopped) return;
    this.#nextAtMs = nowMs() + pauseMs;
    this.#timer = setTimeout(() => this.renew(), pauseMs);
    this.#timer.unref();
  }

  #ended(problem: string | undefined): void {
    this.#problem = problem;
    this.#parts.ended({ problem, failures: this.#failures, held: this.held });
  }

  /** Throws when it is of no use. */
  #taken({ credential, expiresAtMs, issuerNowMs, principal }: IssuedCredential, askedAtMs: number): HeldCredential {
    const now = this.#parts.nowMs();
    const clockAheadMs = issuerNowMs === undefined ? 0 : issuerNowMs - now;
    const held = { credential, issuedAtMs: now, principal, clockAheadMs };
    if (expiresAtMs === undefined) return { ...held, endsAtMs: Number.POSITIVE_INFINITY };
    if (!Number.isFinite(expiresAtMs)) throw new Error('what was issued has no readable time of its end');
    // A life counts from the question on, because the answer was made some time before it came.
    const endsAtMs = issuerNowMs === undefined ? expiresAtMs : askedAtMs + (expiresAtMs - issuerNowMs);
    if (endsAtMs > now) return { ...held, endsAtMs };
    if (issuerNowMs !== undefined) throw new Error('what was issued had ended already');
    const ended = `what was issued had ended already at ${timestamp(expiresAtMs)}, by the clock of this machine`;
    // A credential that still holds is better than one of which it is not known.
    if (this.held !== undefined) throw new Error(`${ended}; see whether that is right`);
    return { ...held, endsAtMs: now + presumedLifeMs };
  }

  /** Not all proxies at one moment: up to half of the margin sooner. */
  #untilRenewal({ endsAtMs }: HeldCredential): number {
    const { nowMs, random, pace } = this.#parts;
    const lifeMs = endsAtMs - nowMs();
    if (lifeMs === Number.POSITIVE_INFINITY) return pace.endless * (1 - random() / 10);
    const marginMs = Math.min(longestMarginMs, lifeMs / 5);
    // A timer takes no more than 2^31 - 1 ms.
    return Math.min(Math.max(lifeMs - marginMs * (1 + random() / 2), shortestPauseMs), 2 ** 31 - 1);
  }

  /** While a credential holds, there is to be time for another question before it ends. */
  #longestAttempt(): number {
    const { pace } = this.#parts;
    return Math.min(pace.attempt, Math.max(this.#leftMs() / 2, shortestAttemptMs));
  }

  #backoff(): number {
    const { random, pace } = this.#parts;
    const failingMs = this.#parts.nowMs() - this.#failingSinceMs;
    const pauseMs = Math.min(Math.max(failingMs / 2, pace.firstPause), pace.longestPause);
    return Math.min(pauseMs, Math.max(this.#leftMs() / 4, shortestPauseMs)) * (1 - random() / 2);
  }

  /** Infinity: nothing is in force that could end. Milliseconds. */
  #leftMs(): number {
    return (this.held?.endsAtMs ?? Number.POSITIVE_INFINITY) - this.#parts.nowMs();
  }
}
