// The rules by which the targets of a call are asked, one after the other: which one comes next, whether one more may be asked, and when the
// same one again. Model calls and calls that are passed on share them.
import type { Limiter } from '../limits/limiter.ts';
import type { Matches } from '../limits/match.ts';
import { mostCalls, type RetryReason } from '../snapshot/retry-policy.ts';
import type { Route, Upstream } from '../snapshot/snapshot.ts';
import type { AnswerHead } from '../upstream/answer-head.ts';
import type { UpstreamFailure } from '../upstream/failure.ts';
import type { Allowance } from './limit-refusal.ts';
import type { RetryBudgets, RetryKind } from './retry/retry-budgets.ts';
import { sameTargetPauseMs } from './retry/same-target.ts';

/** The clock of deadlines lags behind by up to so much: what ends by the whole time ends a little early. Milliseconds. */
const deadlineLagMs = 100;

/** A target that can be asked. */
interface Askable {
  readonly upstream: Pick<Upstream, 'connectTimeoutMs' | 'patience'>;
}

/** The targets to plan for, and their rules. */
export interface Planning<Target> {
  /** In the order in which they are asked. */
  readonly targets: readonly Target[];
  /** Whose policy holds, and whose budget pays for further calls. */
  readonly route: Pick<Route, 'source' | 'policy' | 'hedge'>;
  /** The rules that count a call of a target. */
  readonly matchesOf: (target: Target) => Matches;
  /** The tokens that a call of a target sets aside under its rules; 0: none. */
  readonly wantedAt: (target: Target) => number;
  /** Whether nothing speaks against a target now. */
  readonly isUsable: (target: Target, nowMs: number) => boolean;
  /** When the first one is asked. Milliseconds of the gateway's clock, as all moments here. */
  readonly startedAtMs: number;
}

/** A target that is asked now, and what the request holds under its rules. */
export interface Planned<Target> {
  readonly target: Target;
  readonly allowance: Allowance;
}

/** How a target failed. */
export interface PlannedFailure<Target> {
  readonly target: Target;
  /** Undefined where the request must not be sent again. */
  readonly kind: RetryReason | undefined;
  /** It was about our key, and the provider has another one that can be used at once. */
  readonly hasOtherKey: boolean;
  /** Undefined: its answer came completely. */
  readonly failure: UpstreamFailure | undefined;
  readonly answer: { readonly head: AnswerHead };
  /** That of the answer, or of the error within it. */
  readonly status: number;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

/** The parts that planning needs. */
interface PlanParts {
  readonly limiter: Limiter;
  readonly retries: RetryBudgets;
  /** Milliseconds of the gateway's clock. */
  readonly nowMs: () => number;
}

export class CallPlan<Target extends Askable> {
  /** When all calls together must be over. */
  latestMs = Number.POSITIVE_INFINITY;
  readonly #planning: Planning<Target>;
  readonly #parts: PlanParts;
  /** The most calls. */
  readonly #mostCalls: number;
  /** Of the next target that was not asked. */
  #index = 0;
  #calls = 0;
  /** Retries of one target, and the pauses before them. */
  #retries = 0;
  #pausedMs = 0;
  /** The first target was asked although it is likely to fail: nothing better was there, so others like it may be asked, too. */
  #isLastResort = false;

  constructor(planning: Planning<Target>, parts: PlanParts) {
    this.#planning = planning;
    this.#parts = parts;
    this.#mostCalls = mostCalls(planning.route.policy, planning.targets.length);
  }

  /** How many were made. */
  get calls(): number {
    return this.#calls;
  }

  /** No other target can be asked behind those that were. */
  get isLast(): boolean {
    return this.#index >= this.#planning.targets.length || this.#calls >= this.#mostCalls;
  }

  /** The next target that has room; undefined: there is none, or the budget is used up. */
  next(kind: RetryKind, nowMs: number): Planned<Target> | undefined {
    const { targets, isUsable } = this.#planning;
    while (this.#index < targets.length) {
      const target = targets[this.#index] as Target;
      this.#index += 1;
      const usable = isUsable(target, nowMs);
      // A target that is likely to fail is asked only when no better one was there from the start.
      if (this.#calls === 0) this.#isLastResort = !usable;
      else if (!usable && !this.#isLastResort) continue;
      const taken = this.#take(target, kind, nowMs);
      if (taken === 'no budget') this.#index -= 1;
      if (taken !== 'no room') return taken === 'no budget' ? undefined : taken;
    }
    return undefined;
  }

  /** Asks the target once more; undefined: it has no room, or the budget is used up. */
  again(target: Target, nowMs: number): Planned<Target> | undefined {
    const taken = this.#take(target, 'retry', nowMs);
    return typeof taken === 'string' ? undefined : taken;
  }

  /** Whether another call may be made behind a failure of this kind. */
  mayAskOn(kind: RetryReason | undefined, nowMs: number): boolean {
    return kind !== undefined && this.#planning.route.policy.on.has(kind) && this.hasTimeAndCalls(nowMs);
  }

  hasTimeAndCalls(nowMs: number): boolean {
    const { route, startedAtMs } = this.#planning;
    const { deadlineMs = Number.POSITIVE_INFINITY } = route.policy;
    const latestMs = Math.min(startedAtMs + deadlineMs, this.latestMs - deadlineLagMs);
    return nowMs < latestMs && this.#calls < this.#mostCalls;
  }

  /**
   * The step after a failure: a target that is asked now, or the pause in milliseconds before the failed one is asked
   * again; undefined: none may be asked.
   */
  after(failed: PlannedFailure<Target>, nowMs: number): Planned<Target> | number | undefined {
    const { target, kind, hasOtherKey, failure, answer, status } = failed;
    if (!this.mayAskOn(kind, nowMs)) return undefined;
    const planned = (hasOtherKey ? this.again(target, nowMs) : undefined) ?? this.next('failover', nowMs);
    if (planned !== undefined) return planned;
    const { head } = answer;
    const isQuick = failed.endedAtMs - failed.startedAtMs < target.upstream.connectTimeoutMs;
    const { attempts } = this.#planning.route.policy;
    const said = { failure, status, head, isQuick, isWanted: attempts !== undefined };
    const before = { retries: this.#retries, pausedMs: this.#pausedMs };
    const pauseMs = sameTargetPauseMs(said, before, this.#parts.nowMs, Math.random);
    if (pauseMs === undefined) return undefined;
    this.#retries += 1;
    this.#pausedMs += pauseMs;
    return pauseMs;
  }

  /** Takes one request from the rules of a target, and a further call from the budget. */
  #take(target: Target, kind: RetryKind, nowMs: number): Planned<Target> | 'no room' | 'no budget' {
    const { targets, route, matchesOf, wantedAt } = this.#planning;
    const { limiter, retries } = this.#parts;
    const matches = matchesOf(target);
    const refusedAs = targets.length === 1 ? 'reject' : 'skip_target';
    const { lease } = limiter.admit(matches, nowMs, refusedAs, wantedAt(target));
    if (lease === undefined) return 'no room';
    if (this.#calls > 0 && !retries.take(route, kind, nowMs)) {
      lease.refund(nowMs);
      return 'no budget';
    }
    this.#calls += 1;
    // All calls of a request share the whole time that the first one has.
    if (this.#calls === 1) this.latestMs = nowMs + target.upstream.patience.totalMs;
    return { target, allowance: { lease, matches } };
  }
}
