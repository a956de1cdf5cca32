// The loop over the targets of a request, for every kind of requests: which are skipped, which is asked next, when the same one is asked again
// or two side by side, and the last word when none gives an answer.
import { type Refusal, refusal } from '../errors.ts';
import type { Waiting } from '../http/exchange.ts';
import type { Limiter } from '../limits/limiter.ts';
import { rejectTargets } from '../limits/rejection.ts';
import { drainedRefusal } from '../providers/drained-refusal.ts';
import { hedgeDelayMs } from '../snapshot/hedge.ts';
import type { Target as ModelTarget, Route } from '../snapshot/snapshot.ts';
import type { UpstreamTally } from '../tallies/upstream-tally.ts';
import { longestRestMs } from '../targets/rest-times.ts';
import type { TargetStates } from '../targets/target-states.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import type { Deadlines } from '../upstream/deadlines.ts';
import { outrun, type UpstreamFailure } from '../upstream/failure.ts';
import { CallPlan, type Planned } from './call-plan.ts';
import { lastWord } from './last-word.ts';
import { limitRefusal, type WaitTally } from './limit-refusal.ts';
import { Race } from './race.ts';
import { noteOutrun } from './retry/learn.ts';
import { type Consequence, noteAnswered, noteRefused } from './retry/note-outcome.ts';
import type { RetryBudgets, RetryKind } from './retry/retry-budgets.ts';
import type { Askable, Errand, TargetCall } from './target-call.ts';

export interface LoopParts {
  readonly deadlines: Pick<Deadlines, 'coarseNowMs'>;
  readonly limiter: Limiter;
  readonly metrics: WaitTally & { readonly upstream: UpstreamTally };
  readonly retries: RetryBudgets;
  readonly targets: TargetStates;
  /** Milliseconds of the gateway's clock. */
  readonly nowMs: () => number;
}

/** The call whose answer is used; its allowance is held. */
export interface Taken<Call> {
  readonly call: Call;
  /** When its answer could be used. Milliseconds of the gateway's clock. */
  readonly endedAtMs: number;
}

/** The policy where one target is asked, once. */
const once: Pick<Route, 'source' | 'policy' | 'hedge'> = {
  source: '',
  policy: { attempts: 1, budget: undefined, on: new Set(), deadlineMs: undefined },
  hedge: undefined,
};
/** An answer that was read in steps, while another target has answered. */
const tooLate: UpstreamFailure = { failure: outrun, sent: true, isStale: false };

/** A target of the config, or a place that stands for one. */
type Remembering = Askable & { readonly remembered?: ModelTarget | undefined };

export class TargetLoop<Target extends Remembering, Call extends TargetCall<Target>, Answer> implements Waiting {
  readonly #errand: Errand<Target, Call>;
  readonly #parts: LoopParts;
  readonly #plan: CallPlan<Target>;
  readonly #outcome = Promise.withResolvers<Answer>();
  readonly #accept: (taken: Taken<Call>) => Answer | Promise<Answer>;
  readonly #race = new Race<Call>();
  /** A target has refused the request for what it says, or may have done the work: no other is asked. */
  #final: Refusal | undefined;
  #pause: NodeJS.Timeout | undefined;

  /** `accept`: makes the answer of the call that is used; what it throws ends the request. */
  constructor(
    errand: Errand<Target, Call>,
    parts: LoopParts,
    accept: (taken: Taken<Call>) => Answer | Promise<Answer>,
  ) {
    this.#errand = errand;
    this.#accept = accept;
    this.#parts = parts;
    this.#plan = new CallPlan(
      {
        targets: errand.targets,
        route: errand.route ?? once,
        matchesOf: (target) => errand.matchesOf(target),
        wantedAt: (target) => errand.wantedAt(target),
        isUsable: (target, nowMs) => errand.stateOf(target).isUsable(nowMs),
        drainOf: (target) => (target.isKeeper === true ? undefined : parts.targets.drainOf(target)),
        startedAtMs: errand.startedAtMs,
        before: errand.before,
      },
      parts,
    );
  }

  /**
   * Asks until a target gives an answer that can be used. Rejects with the last word of the targets; when all are used up or taken out, no call was made, and
   * the consumer gets back what it paid. When the client leaves while a provider works, the unfinished answer is taken, because it has cost
   * something.
   */
  run(): Promise<Answer> {
    // One moment for all that are asked without a pause: what was used up a moment ago must still be so in the answer.
    const { before, route, fault, isLeft, startedAtMs: now } = this.#errand;
    try {
      if (isLeft) throw fault ?? refusal('client_left');
      if (before !== undefined && !this.#plan.mayAskOn(before.kind, now)) throw before.refused;
      if (route !== undefined && before === undefined) this.#parts.retries.note(route, now);
      this.#whenPlanned(this.#plan.next('failover', now), now, (first, nowMs) => {
        if (first === undefined) throw this.#lastWord(nowMs);
        this.#send(first, nowMs, false);
      });
    } catch (reason) {
      this.#giveUp(reason, now);
    }
    return this.#outcome.promise;
  }

  /** Nothing more comes of the request: its client has left, or its body is broken. */
  gone(): void {
    this.#race.leave();
    if (this.#pause === undefined) return;
    clearTimeout(this.#pause);
    this.#outcome.reject(this.#errand.fault ?? refusal('client_left'));
  }

  #giveUp(reason: unknown, nowMs: number): void {
    this.#race.end();
    if (this.#plan.calls === 0) this.#errand.consumer.lease.refund(nowMs);
    this.#outcome.reject(reason);
  }

  #lastWord(nowMs: number): Refusal {
    const { before, failed, route, consumer, targets, fault } = this.#errand;
    const decided = fault ?? this.#final ?? before?.refused;
    if (decided !== undefined) return decided;
    const last = failed.at(-1);
    if (last === undefined) {
      // Else its own request would stand in its way.
      consumer.lease.refund(nowMs);
      const { drained } = this.#plan;
      const open = drained === undefined ? targets : targets.filter((target) => !drained.has(target));
      if (drained !== undefined && open.length === 0) return drainedRefusal([...drained.values()], nowMs);
      const rules = open.map((target) => this.#errand.matchesOf(target));
      const rejection = rejectTargets(rules, consumer.matches, nowMs, this.#mostWanted);
      return limitRefusal(rejection, consumer.told, this.#parts.metrics);
    }
    if (route === undefined) return last.refused;
    const refusals = failed.map(({ target, refused }) => ({ target: target.remembered ?? target, refused }));
    return lastWord(refusals, { route, consumer, wanted: this.#mostWanted }, this.#parts, nowMs);
  }

  /** The most tokens that it would set aside at a target. */
  get #mostWanted(): number {
    const { targets } = this.#errand;
    return targets.reduce((most, target) => Math.max(most, this.#errand.wantedAt(target)), 0);
  }

  #send({ target, allowance }: Planned<Target>, startedAtMs: number, isFresh: boolean): void {
    const { isLast, latestMs } = this.#plan;
    const errand = this.#errand;
    const state = errand.stateOf(target);
    const role = state.breaker.begin(startedAtMs);
    let call: Call;
    try {
      const picked =
        errand.keyOf(target) ?? target.upstream.credentials.pick(this.#parts.deadlines.coarseNowMs, state.quota);
      const key = (errand.labels && picked.forCaller?.(errand.labels)) ?? picked;
      const isAlone = isLast && this.#race.isIdle;
      const hasNext = isLast ? undefined : this.#hasNext;
      const begun = { target, allowance, state, role, key, startedAtMs, latestMs, isFresh, isLast: isAlone, hasNext };
      call = errand.send(begun);
    } catch (error) {
      state.breaker.released(role);
      allowance.lease.release();
      throw error;
    }
    // One that is sent again on a new connection is open already.
    if (!isFresh) state.open += 1;
    this.#race.begin(call);
    call.answer.whenReady((failure) => this.#judge(call, failure));
    const hedge = errand.canHedge && !isLast ? errand.route?.hedge : undefined;
    if (hedge !== undefined)
      this.#race.hedge(call, hedgeDelayMs(hedge, state.latency, errand.isStream), () => this.#askBeside('hedge'));
  }

  readonly #hasNext = (): boolean => this.#plan.hasNext(Math.floor(this.#parts.nowMs()));

  /** Asks another target too; that there is none, or no budget, changes nothing. */
  #askBeside(kind: RetryKind): void {
    const now = Math.floor(this.#parts.nowMs());
    try {
      const other = this.#plan.hasTimeAndCalls(now) ? this.#plan.next(kind, now) : undefined;
      this.#whenPlanned(other, now, (planned, nowMs) => {
        if (planned !== undefined) this.#send(planned, nowMs, false);
      });
    } catch (reason) {
      this.#giveUp(reason, now);
    }
  }

  #judge(call: Call, failure: UpstreamFailure | undefined): void {
    const reading = failure === undefined ? this.#errand.read(call) : undefined;
    if (reading === undefined) this.#decide(call, failure);
    // Meanwhile another target may have been faster.
    else void reading.then(() => this.#decide(call, this.#race.isOver ? tooLate : undefined));
  }

  /** Counts the outcome, updates the state of the target and its key, and takes the next step. */
  #decide(call: Call, failure: UpstreamFailure | undefined): void {
    const { target, state, allowance, answer, isFresh } = call;
    const { metrics, nowMs } = this.#parts;
    const errand = this.#errand;
    const { isOver } = this.#race;
    const endedAtMs = nowMs();
    let refused: Refusal | undefined;
    try {
      refused = errand.refusalOf(call, failure, isOver);
    } catch (error) {
      metrics.upstream.ended(target, 'cancelled', 0);
      state.breaker.released(call.role);
      answer.cancel();
      allowance.lease.release();
      state.open -= 1;
      this.#race.done(call);
      this.#giveUp(error, 0);
      return;
    }
    const { isLeft } = errand;
    if (failure === undefined) {
      const { credentials } = target.upstream;
      const { trouble, waitMs } = refused?.diagnosis ?? {};
      if (trouble === 'key_refused' || trouble === 'account_used_up')
        credentials.troubled(call.key, trouble, endedAtMs);
      else credentials.answered(call.key, refused?.saidStatus ?? answer.status, answer.head, endedAtMs);
      if (waitMs !== undefined) credentials.rest(call.key, endedAtMs + Math.min(waitMs, longestRestMs));
    }
    if (refused === undefined) {
      noteAnswered(call, endedAtMs, isLeft, metrics.upstream);
      this.#race.done(call);
      this.#race.end();
      this.#take({ call, endedAtMs });
      return;
    }
    const isOutrun = failure !== undefined && isOver;
    const brokenOff = isOutrun ? 'outrun' : failure !== undefined && isLeft ? 'cancelled' : undefined;
    // A request that was never sent, because the connection had been closed, is not a call.
    const isCall = failure?.isStale !== true || isFresh;
    const outcome = { refused, failure, brokenOff, isCall, isBoundToKey: errand.isBoundToKey } as const;
    const consequence = noteRefused(call, outcome, endedAtMs, metrics.upstream);
    answer.cancel();
    if (isOutrun) noteOutrun(call, endedAtMs, errand.isStream);
    this.#race.done(call);
    this.#failed(call, { ...consequence, refused, failure, endedAtMs });
  }

  #take(taken: Taken<Call>): void {
    try {
      this.#outcome.resolve(this.#accept(taken));
    } catch (reason) {
      taken.call.answer.cancel();
      this.#outcome.reject(reason);
    }
  }

  #failed(call: Call, verdict: Verdict): void {
    const { target, allowance, startedAtMs, answer, spanId } = call;
    const { refused, failure, endedAtMs, kind } = verdict;
    const now = Math.floor(endedAtMs);
    const { isOver } = this.#race;
    try {
      if (failure?.isStale === true && !call.isFresh && call.isPaced !== true && !this.#errand.isLeft) {
        // Nothing was sent: the same again, on a new connection, is no further call.
        this.#parts.retries.counts.reconnect += 1;
        this.#send({ target, allowance }, now, true);
        return;
      }
      const isSent = failure?.sent !== false;
      // What it has cost is counted before its lease gives room back.
      const usage = this.#usageOf(call, failure, now);
      this.#errand.noteFailed({ target, startedAtMs, endedAtMs, spanId, refused, answer, isSent, usage });
      if (isOver) return;
      if (kind === undefined) this.#final ??= refused;
      // While another one is asked, its answer is waited for.
      if (this.#race.isIdle) this.#goOn(call, verdict, now);
      else if (this.#final === undefined && this.#plan.mayAskOn(kind, now)) this.#askBeside('failover');
    } catch (reason) {
      this.#giveUp(reason, now);
    }
  }

  /** The usage that is charged for a failed call, whose lease is given back. */
  #usageOf(call: Call, failure: UpstreamFailure | undefined, nowMs: number): TokenUsage | undefined {
    const { lease } = call.allowance;
    call.state.open -= 1;
    try {
      return this.#errand.usageOf(call, failure, this.#race.isOver, nowMs);
    } finally {
      // A provider that was never reached has executed nothing; of one that closed both connections that is only likely.
      if (failure?.sent === false && !failure.isStale) lease.refund(nowMs);
      else lease.release();
    }
  }

  /** Asks another target, or this one again; throws the last word when neither may be. */
  #goOn(call: Call, verdict: Verdict, nowMs: number): void {
    const { isLeft, canSend } = this.#errand;
    const isOver = isLeft || !canSend || this.#final !== undefined;
    const next = isOver ? undefined : this.#plan.after({ ...call, ...verdict }, nowMs);
    this.#whenPlanned(next, nowMs, (step, now) => {
      if (step === undefined) throw this.#lastWord(now);
      if (typeof step === 'number') this.#askAgain(call.target, step);
      else this.#send(step, now, false);
    });
  }

  /** Takes a step; where a target's rules have to be asked for first, then, unless the request is over. What it throws ends the request. */
  #whenPlanned<Step extends Planned<Target> | number | undefined>(
    planned: Step | Promise<Step>,
    nowMs: number,
    take: (step: Step, nowMs: number) => void,
  ): void {
    if (!(planned instanceof Promise)) {
      take(planned, nowMs);
      return;
    }
    void planned.then((step) => {
      const now = Math.floor(this.#parts.nowMs());
      const { isLeft, fault } = this.#errand;
      try {
        if (!this.#race.isOver && !isLeft) {
          take(step, now);
          return;
        }
        if (typeof step === 'object') this.#plan.leave(step, now);
        if (this.#race.isIdle && !this.#race.isOver) throw fault ?? refusal('client_left');
      } catch (reason) {
        this.#giveUp(reason, now);
      }
    });
  }

  /** Asks the same target once more, after a pause. */
  #askAgain(target: Target, pauseMs: number): void {
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      const now = Math.floor(this.#parts.nowMs());
      try {
        this.#whenPlanned(this.#plan.again(target, now), now, (again, nowMs) => {
          if (again === undefined) throw this.#lastWord(nowMs);
          this.#send(again, nowMs, false);
        });
      } catch (reason) {
        this.#giveUp(reason, now);
      }
    }, pauseMs);
  }
}

/** Why a call gave no answer that can be used, and what follows for the request. */
interface Verdict extends Consequence {
  readonly refused: Refusal;
  /** The answer did not come completely; undefined: it did. */
  readonly failure: UpstreamFailure | undefined;
  readonly endedAtMs: number;
}
