// Stage 7: asks the targets in order until one gives an answer that can be relayed.
import { CallContext } from '../call/thread.ts';
import type { ModelRequest, Waiting } from '../connection/exchange.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { RetryKind } from '../retry/retry-budgets.ts';
import { sameTargetPauseMs } from '../retry/same-target.ts';
import type { RetryReason } from '../snapshot/retry-policy.ts';
import type { Target } from '../snapshot/snapshot.ts';
import type { Allowance } from './admit.ts';
import { type Asker, type Asking, acceptedOf, ask, judge, type Verdict } from './ask.ts';
import type { AnswerTaker, RoutedCall } from './attempts.ts';
import { chargeUnfinished } from './charge-unfinished.ts';
import { lastWord } from './last-word.ts';
import { Race } from './race.ts';

type Parts = Asker['parts'] & Pick<Gateway, 'balance' | 'limiter' | 'retries'>;

/** The clock of deadlines lags behind by up to so much: what ends by the whole time ends a little early. Milliseconds. */
const deadlineLagMs = 100;

/**
 * Sends the call to one target of the route after the other, as far as its policy and the budget for further calls allow. One whose provider or
 * model rules are used up is skipped; after a failure the next is asked only when it is safe (`failureKind`). Refuses with the last word of
 * the targets (`lastWord`); when all are used up no call was made, and the consumer gets back what it paid. When the client leaves
 * while the provider works, the unfinished answer is taken, because it has cost something.
 */
export function attempt(routed: RoutedCall, exchange: ModelRequest, parts: Parts, taker: AnswerTaker): void {
  new Attempts(routed, exchange, parts, taker).start();
}

/** What became of an intention to ask. */
type Sending = 'sent' | 'no room' | 'no budget';

/** The targets of one call: those that were asked, and those that are left. */
class Attempts implements Asker, Waiting {
  readonly routed: RoutedCall;
  readonly exchange: ModelRequest;
  readonly parts: Parts;
  readonly #taker: AnswerTaker;
  readonly #targets: readonly Target[];
  readonly #startedAtMs: number;
  /** Of the next target that was not asked. */
  #index = 0;
  #calls = 0;
  /** Retries of the same target. */
  #retries = 0;
  /** The first target was asked although it is likely to fail: nothing better was there, so others like it may be asked, too. */
  #isLastResort = false;
  /** A target has refused the request for what it says, or may have done the work: no other is asked. */
  #final: Refusal | undefined;
  #latestMs = Number.POSITIVE_INFINITY;
  readonly #race = new Race();
  #pause: NodeJS.Timeout | undefined;

  constructor(routed: RoutedCall, exchange: ModelRequest, parts: Parts, taker: AnswerTaker) {
    this.routed = routed;
    this.exchange = exchange;
    this.parts = parts;
    this.#taker = taker;
    this.#startedAtMs = Math.floor(parts.nowMs());
    const context = new CallContext(this.#startedAtMs, exchange.request.rawHeaders, routed.call);
    this.#targets = parts.balance(routed.route, context);
  }

  get isOver(): boolean {
    return this.#race.isOver;
  }

  start(): void {
    // One moment for all that are asked without a pause: what was used up a moment ago must still be so in the answer.
    const now = this.#startedAtMs;
    try {
      if (this.exchange.gone) throw refusal('client_left');
      this.parts.retries.note(this.routed.route, now);
      if (this.#askNext('failover', now) !== 'sent') throw this.#lastWord(now);
    } catch (reason) {
      this.#giveUp(reason, now);
    }
  }

  /** The client has left. */
  gone(): void {
    this.#race.leave();
    if (this.#pause === undefined) return;
    clearTimeout(this.#pause);
    this.#taker.refuse(refusal('client_left'));
  }

  /** There will be no answer. */
  #giveUp(reason: unknown, nowMs: number): void {
    this.#race.end();
    if (this.#calls === 0) this.routed.consumer.lease.refund(nowMs);
    this.#taker.refuse(reason);
  }

  #lastWord(nowMs: number): Refusal {
    if (this.#final !== undefined) return this.#final;
    return lastWord(this.#taker.failed, this.routed, this.parts, nowMs);
  }

  /** Asks the next target that has room. */
  #askNext(kind: RetryKind, nowMs: number): Sending {
    const { targets } = this.parts;
    while (this.#index < this.#targets.length) {
      const target = this.#targets[this.#index] as Target;
      this.#index += 1;
      const isUsable = targets.of(target).isUsable(nowMs);
      // What is likely to fail, too, is asked only when nothing better was there from the start.
      if (this.#calls === 0) this.#isLastResort = !isUsable;
      else if (!isUsable && !this.#isLastResort) continue;
      const sending = this.#admitAndSend(target, kind, nowMs);
      if (sending === 'no budget') this.#index -= 1;
      if (sending !== 'no room') return sending;
    }
    return 'no room';
  }

  /** Sends the call to a target that has room, if the budget allows. */
  #admitAndSend(target: Target, kind: RetryKind, nowMs: number): Sending {
    const { limiter, retries } = this.parts;
    const { isCounted } = this.routed;
    const matches = isCounted ? limiter.forTarget(target.upstream.name, target.model) : limiter.unlimited;
    const { lease } = limiter.admit(matches, nowMs, this.#targets.length === 1 ? 'reject' : 'skip_target');
    if (lease === undefined) return 'no room';
    if (this.#calls > 0 && !retries.take(this.routed.route, kind, nowMs)) {
      lease.refund(nowMs);
      return 'no budget';
    }
    this.#calls += 1;
    this.#send(target, { lease, matches }, nowMs, false);
    return 'sent';
  }

  #send(target: Target, allowance: Allowance, startedAtMs: number, isFresh: boolean): void {
    // All calls of a request share the whole time that the first one has.
    if (this.#latestMs === Number.POSITIVE_INFINITY) this.#latestMs = startedAtMs + target.upstream.patience.totalMs;
    const { hedge, policy } = this.routed.route;
    const isLast = this.#index >= this.#targets.length || this.#calls >= policy.attempts;
    const way = { startedAtMs, latestMs: this.#latestMs, isFresh, isLast: isLast && this.#race.isIdle };
    const asking = ask(target, allowance, this, way);
    this.#race.begin(asking);
    this.exchange.waiting = this;
    asking.answer.whenReady((failure) => judge(asking, failure, this));
    if (hedge && !isLast) this.#race.hedge(asking, this.routed.call.stream, () => this.#askBeside());
  }

  /** Asks another target too; that there is none, or no budget, changes nothing. */
  #askBeside(): void {
    const now = Math.floor(this.parts.nowMs());
    try {
      if (this.#hasTimeAndCalls(now)) this.#askNext('hedge', now);
    } catch (reason) {
      this.#giveUp(reason, now);
    }
  }

  broke(asking: Asking, error: unknown): void {
    this.#race.done(asking);
    this.#giveUp(error, 0);
  }

  accepted(asking: Asking, endedAtMs: number): void {
    this.#race.done(asking);
    this.#race.end();
    this.exchange.waiting = undefined;
    this.#taker.takeAnswer(acceptedOf(asking, this.routed, endedAtMs));
  }

  failed(asking: Asking, verdict: Verdict): void {
    const { target, allowance, startedAtMs, answer, spanId } = asking;
    const { refused, failure, endedAtMs } = verdict;
    const now = Math.floor(endedAtMs);
    this.#race.done(asking);
    try {
      if (failure?.isStale === true && !asking.isFresh && !this.exchange.gone) {
        // Nothing was sent: the same again, on a new connection, is no further call.
        this.parts.retries.counts.reconnect += 1;
        this.#send(target, allowance, now, true);
        return;
      }
      // A provider that was never reached has executed nothing; of one that closed both connections that is only likely.
      if (failure?.sent === false && !failure.isStale) allowance.lease.refund(now);
      else allowance.lease.release();
      const unfinished = { asking, routed: this.routed, failure, isOutrun: this.isOver };
      const usage = chargeUnfinished(unfinished, this.parts, now);
      const isSent = failure?.sent !== false;
      this.#taker.failed.push({ target, startedAtMs, endedAtMs, spanId, refused, answer, isSent, usage });
      if (this.isOver) return;
      if (verdict.kind === undefined) this.#final ??= refused;
      // While another one is asked, its answer is waited for.
      if (this.#race.isIdle) this.#goOn(asking, verdict, now);
      else if (this.#mayAskOn(verdict.kind, now)) this.#askNext('failover', now);
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
    if (hasOtherKey && this.#admitAndSend(target, 'retry', nowMs) === 'sent') return;
    if (this.#askNext('failover', nowMs) === 'sent') return;
    const { status, head } = answer;
    const said = { failure, status, head, isQuick: endedAtMs - startedAtMs < target.upstream.connectTimeoutMs };
    const pauseMs = sameTargetPauseMs(said, this.#retries, this.parts.nowMs, Math.random);
    if (pauseMs === undefined) throw this.#lastWord(nowMs);
    this.#askAgain(target, pauseMs);
  }

  #mayAskOn(kind: RetryReason | undefined, nowMs: number): boolean {
    return (
      kind !== undefined &&
      this.#final === undefined &&
      this.routed.route.policy.on.has(kind) &&
      this.#hasTimeAndCalls(nowMs)
    );
  }

  #hasTimeAndCalls(nowMs: number): boolean {
    const { attempts, deadlineMs = Number.POSITIVE_INFINITY } = this.routed.route.policy;
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
        if (this.#admitAndSend(target, 'retry', now) !== 'sent') throw this.#lastWord(now);
      } catch (reason) {
        this.#giveUp(reason, now);
      }
    }, pauseMs);
  }
}
