// Stage 7: asks the targets in order until one gives an answer that can be relayed.
import { CallContext } from '../call/thread.ts';
import type { Exchange, Waiting } from '../connection/exchange.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { passableId } from '../providers/upstream-id.ts';
import type { RetryKind } from '../retry/retry-budgets.ts';
import { sameTargetPauseMs } from '../retry/same-target.ts';
import type { RetryReason } from '../snapshot/retry-policy.ts';
import type { Target } from '../snapshot/snapshot.ts';
import type { Allowance } from './admit.ts';
import { type Asker, type Asking, ask, judge, type Verdict } from './ask.ts';
import type { AnswerTaker, RoutedCall } from './attempts.ts';
import { lastWord } from './last-word.ts';

type Parts = Pick<
  Gateway,
  'balance' | 'deadlines' | 'limiter' | 'metrics' | 'nowMs' | 'pools' | 'retries' | 'targets' | 'usageEnabled'
>;

/** The clock of deadlines lags behind by up to so much: what ends by the whole time ends a little early. Milliseconds. */
const deadlineLagMs = 100;

/**
 * Sends the call to one target of the route after the other, as far as its policy and the budget for further calls allow. One whose provider or
 * model rules are used up is skipped; after a failure the next is asked only when it is safe (`failureKind`). Refuses with the last word of
 * the targets (`lastWord`); when all are used up no call was made, and the consumer gets back what it paid. When the client leaves
 * while the provider works, the unfinished answer is taken, because it has cost something.
 */
export function attempt(routed: RoutedCall, exchange: Exchange, parts: Parts, taker: AnswerTaker): void {
  new Attempts(routed, exchange, parts, taker).start();
}

/** The targets of one call: those that were asked, and those that are left. */
class Attempts implements Asker, Waiting {
  readonly routed: RoutedCall;
  readonly exchange: Exchange;
  readonly parts: Parts;
  readonly #taker: AnswerTaker;
  readonly #targets: readonly Target[];
  readonly #startedAtMs: number;
  #index = 0;
  #calls = 0;
  /** Retries of the same target. */
  #retries = 0;
  #latestMs = Number.POSITIVE_INFINITY;
  #asking: Asking | undefined;
  #pause: NodeJS.Timeout | undefined;

  constructor(routed: RoutedCall, exchange: Exchange, parts: Parts, taker: AnswerTaker) {
    this.routed = routed;
    this.exchange = exchange;
    this.parts = parts;
    this.#taker = taker;
    this.#startedAtMs = Math.floor(parts.nowMs());
    const context = new CallContext(this.#startedAtMs, exchange.request.rawHeaders, routed.call);
    this.#targets = parts.balance(routed.route, context);
  }

  start(): void {
    // One moment for all that are asked without a pause: what was used up a moment ago must still be so in the answer.
    const now = this.#startedAtMs;
    try {
      if (this.exchange.gone) throw refusal('client_left');
      this.parts.retries.note(this.routed.route, now);
      if (!this.#askNext(now)) throw this.#lastWord(now);
    } catch (reason) {
      this.#giveUp(reason, now);
    }
  }

  /** The client has left. */
  gone(): void {
    this.#asking?.answer.cancel();
    if (this.#pause === undefined) return;
    clearTimeout(this.#pause);
    this.#taker.refuse(refusal('client_left'));
  }

  /** There will be no answer. */
  #giveUp(reason: unknown, nowMs: number): void {
    if (this.#calls === 0) this.routed.consumer.lease.refund(nowMs);
    this.#taker.refuse(reason);
  }

  #lastWord(nowMs: number): Refusal {
    return lastWord(this.#taker.failed, this.routed, this.parts, nowMs);
  }

  /** Asks the next target that has room. False: there is none, or no further call is allowed. */
  #askNext(nowMs: number): boolean {
    const { targets } = this.parts;
    for (; this.#index < this.#targets.length; this.#index += 1) {
      const target = this.#targets[this.#index] as Target;
      // What is likely to fail, too, is asked only when nothing better was there from the start.
      if (this.#calls > 0 && !targets.of(target).isUsable(nowMs)) continue;
      const asked = this.#admitAndSend(target, 'failover', nowMs);
      if (asked === 'no room') continue;
      this.#index += 1;
      return asked;
    }
    return false;
  }

  /** Sends the call to a target that has room, if the budget allows; `no room`: its rules are used up. */
  #admitAndSend(target: Target, kind: RetryKind, nowMs: number): boolean | 'no room' {
    const { limiter, retries } = this.parts;
    const matches = limiter.forTarget(target.upstream.name, target.model);
    const { lease } = limiter.admit(matches, nowMs, this.#targets.length === 1 ? 'reject' : 'skip_target');
    if (lease === undefined) return 'no room';
    if (this.#calls > 0 && !retries.take(this.routed.route, kind, nowMs)) {
      lease.refund(nowMs);
      return false;
    }
    this.#calls += 1;
    this.#send(target, { lease, matches }, nowMs, false);
    return true;
  }

  #send(target: Target, allowance: Allowance, startedAtMs: number, isFresh: boolean): void {
    // All calls of a request share the whole time that the first one has.
    if (this.#latestMs === Number.POSITIVE_INFINITY) this.#latestMs = startedAtMs + target.upstream.patience.totalMs;
    const isLast = this.#index >= this.#targets.length - 1 || this.#calls >= this.routed.route.policy.attempts;
    const asking = ask(target, allowance, this, { startedAtMs, latestMs: this.#latestMs, isFresh, isLast });
    this.#asking = asking;
    this.exchange.waiting = this;
    asking.answer.whenReady((failure) => judge(asking, failure, this));
  }

  broke(_: Asking, error: unknown): void {
    this.#asking = undefined;
    this.#taker.refuse(error);
  }

  accepted(asking: Asking, endedAtMs: number): void {
    const { target, allowance, startedAtMs, answer, injectedUsage } = asking;
    const { routed } = this;
    const upstreamId = passableId(answer.head.requestId, target.upstream.secrets);
    const call = { routed, target, startedAtMs, endedAtMs, refused: undefined };
    this.#asking = undefined;
    this.exchange.waiting = undefined;
    this.#taker.takeAnswer({ ...call, answer, allowance, injectedUsage, upstreamId });
  }

  failed(asking: Asking, verdict: Verdict): void {
    const { target, allowance, startedAtMs, answer } = asking;
    const { refused, failure, endedAtMs } = verdict;
    const now = Math.floor(endedAtMs);
    this.#asking = undefined;
    try {
      if (failure?.isStale === true && !asking.isFresh && !this.exchange.gone) {
        // Nothing was sent: the same again, on a new connection, is no further call.
        this.parts.retries.counts.reconnect += 1;
        this.#send(target, allowance, now, true);
        return;
      }
      // A provider that was never reached has executed nothing.
      if (failure?.sent === false) allowance.lease.refund(now);
      else allowance.lease.release();
      this.#taker.failed.push({ target, startedAtMs, endedAtMs, refused, answer });
      this.#goOn(asking, verdict, now);
    } catch (reason) {
      this.#giveUp(reason, now);
    }
  }

  /** Asks another target, or this one again; throws the last word when neither may be. */
  #goOn(
    { target, startedAtMs, answer }: Asking,
    { kind, failure, hasOtherKey, endedAtMs }: Verdict,
    nowMs: number,
  ): void {
    if (this.exchange.gone || !this.#mayAskOn(kind, nowMs)) throw this.#lastWord(nowMs);
    if (hasOtherKey && this.#admitAndSend(target, 'retry', nowMs) === true) return;
    if (this.#askNext(nowMs)) return;
    const { status, head } = answer;
    const said = { failure, status, head, isQuick: endedAtMs - startedAtMs < target.upstream.connectTimeoutMs };
    const pauseMs = sameTargetPauseMs(said, this.#retries, this.parts.nowMs, Math.random);
    if (pauseMs === undefined) throw this.#lastWord(nowMs);
    this.#askAgain(target, pauseMs);
  }

  #mayAskOn(kind: RetryReason | undefined, nowMs: number): boolean {
    const { attempts, on, deadlineMs = Number.POSITIVE_INFINITY } = this.routed.route.policy;
    if (kind === undefined || !on.has(kind)) return false;
    const latestMs = Math.min(this.#startedAtMs + deadlineMs, this.#latestMs - deadlineLagMs);
    return nowMs < latestMs && this.#calls < attempts;
  }

  /** Asks the same target once more, after a pause. */
  #askAgain(target: Target, pauseMs: number): void {
    this.#retries += 1;
    this.exchange.waiting = this;
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      const now = Math.floor(this.parts.nowMs());
      try {
        if (this.#admitAndSend(target, 'retry', now) !== true) throw this.#lastWord(now);
      } catch (reason) {
        this.#giveUp(reason, now);
      }
    }, pauseMs);
  }
}
