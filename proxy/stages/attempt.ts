// Stage 7: asks the targets in order until one gives an answer that can be relayed.
import { CallContext } from '../call/thread.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { ModelRequest, Waiting } from '../http/exchange.ts';
import type { RetryKind } from '../routing/retry/retry-budgets.ts';
import type { Target } from '../snapshot/snapshot.ts';
import { type Asker, type Asking, acceptedOf, ask, judge, type Verdict } from './ask.ts';
import type { AnswerTaker, RoutedCall } from './attempts.ts';
import { CallPlan, type Planned } from './call-plan.ts';
import { chargeUnfinished } from './charge/charge-unfinished.ts';
import { lastWord } from './last-word.ts';
import { Race } from './race.ts';

type Parts = Asker['parts'] & Pick<Gateway, 'balance' | 'limiter' | 'retries'>;

/**
 * Sends the call to one target of the route after the other, as far as its policy and the budget for further calls allow. One whose provider or
 * model rules are used up is skipped; after a failure the next is asked only when it is safe (`failureKind`). Refuses with the last word of
 * the targets (`lastWord`); when all are used up no call was made, and the consumer gets back what it paid. When the client leaves
 * while the provider works, the unfinished answer is taken, because it has cost something.
 */
export function attempt(routed: RoutedCall, exchange: ModelRequest, parts: Parts, taker: AnswerTaker): void {
  new Attempts(routed, exchange, parts, taker).start();
}

/** The targets of one call: those that were asked, and those that are left. */
class Attempts implements Asker, Waiting {
  readonly routed: RoutedCall;
  readonly exchange: ModelRequest;
  readonly parts: Parts;
  readonly #taker: AnswerTaker;
  readonly #plan: CallPlan<Target>;
  readonly #startedAtMs: number;
  /** A target has refused the request for what it says, or may have done the work: no other is asked. */
  #final: Refusal | undefined;
  readonly #race = new Race();
  #pause: NodeJS.Timeout | undefined;

  constructor(routed: RoutedCall, exchange: ModelRequest, parts: Parts, taker: AnswerTaker) {
    this.routed = routed;
    this.exchange = exchange;
    this.parts = parts;
    this.#taker = taker;
    this.#startedAtMs = Math.floor(parts.nowMs());
    const context = new CallContext(this.#startedAtMs, exchange.request.rawHeaders, routed.call);
    const { balance, limiter, targets } = parts;
    const { route, isCounted } = routed;
    this.#plan = new CallPlan(
      {
        targets: balance(route, context),
        route,
        matchesOf: ({ upstream, model }) => (isCounted ? limiter.forTarget(upstream.name, model) : limiter.unlimited),
        isUsable: (target, nowMs) => targets.of(target).isUsable(nowMs),
        startedAtMs: this.#startedAtMs,
      },
      parts,
    );
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
      const first = this.#plan.next('failover', now);
      if (first === undefined) throw this.#lastWord(now);
      this.#send(first, now, false);
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
    if (this.#plan.calls === 0) this.routed.consumer.lease.refund(nowMs);
    this.#taker.refuse(reason);
  }

  #lastWord(nowMs: number): Refusal {
    if (this.#final !== undefined) return this.#final;
    return lastWord(this.#taker.failed, this.routed, this.parts, nowMs);
  }

  #send({ target, allowance }: Planned<Target>, startedAtMs: number, isFresh: boolean): void {
    const { isLast, latestMs } = this.#plan;
    const way = { startedAtMs, latestMs, isFresh, isLast: isLast && this.#race.isIdle };
    const asking = ask(target, allowance, this, way);
    this.#race.begin(asking);
    this.exchange.waiting = this;
    asking.answer.whenReady((failure) => judge(asking, failure, this));
    if (this.routed.route.hedge && !isLast)
      this.#race.hedge(asking, this.routed.call.stream, () => this.#askBeside('hedge'));
  }

  /** Asks another target too; that there is none, or no budget, changes nothing. */
  #askBeside(kind: RetryKind): void {
    const now = Math.floor(this.parts.nowMs());
    try {
      const other = this.#plan.hasTimeAndCalls(now) ? this.#plan.next(kind, now) : undefined;
      if (other !== undefined) this.#send(other, now, false);
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
        this.#send({ target, allowance }, now, true);
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
      else if (this.#final === undefined && this.#plan.mayAskOn(verdict.kind, now)) this.#askBeside('failover');
    } catch (reason) {
      this.#giveUp(reason, now);
    }
  }

  /** Asks another target, or this one again; throws the last word when neither may be. */
  #goOn(asking: Asking, verdict: Verdict, nowMs: number): void {
    const isOver = this.exchange.gone || this.#final !== undefined;
    const next = isOver ? undefined : this.#plan.after({ ...asking, ...verdict }, nowMs);
    if (next === undefined) throw this.#lastWord(nowMs);
    if (typeof next === 'number') this.#askAgain(asking.target, next);
    else this.#send(next, nowMs, false);
  }

  /** Asks the same target once more, after a pause. */
  #askAgain(target: Target, pauseMs: number): void {
    this.exchange.waiting = this;
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      const now = Math.floor(this.parts.nowMs());
      try {
        const again = this.#plan.again(target, now);
        if (again === undefined) throw this.#lastWord(now);
        this.#send(again, now, false);
      } catch (reason) {
        this.#giveUp(reason, now);
      }
    }, pauseMs);
  }
}
