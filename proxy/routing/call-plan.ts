// The rules by which the targets of a call are asked, one after the other: which one comes next, whether one more may be asked, and when the
// same one again. Model calls and calls that are passed on share them.
import type { FailureKind } from '../../domain/targets/failure-kind.ts';
import type { TargetDrain } from '../../domain/targets/target-drain.ts';
import type { Lease } from '../limits/lease.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Matches } from '../limits/match.ts';
import { followed } from '../pacing/slices.ts';
import { mostCalls } from '../snapshot/retry-policy.ts';
import type { Route, Upstream } from '../snapshot/snapshot.ts';
import type { AnswerHead } from '../upstream/answer-head.ts';
import type { UpstreamFailure } from '../upstream/failure.ts';
import type { Allowance } from './limit-refusal.ts';
import type { RetryBudgets, RetryKind } from './retry/retry-budgets.ts';
import { sameTargetPauseMs } from './retry/same-target.ts';
import type { CallsBefore } from './target-call.ts';

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
  /** The drain that keeps a target out now: it is not asked; undefined: there is none. */
  readonly drainOf: (target: Target) => TargetDrain | undefined;
  /** When the first one is asked. Milliseconds of the gateway's clock, as all moments here. */
  readonly startedAtMs: number;
  /** The calls of the request before these; absent: none. */
  readonly before?: CallsBefore | undefined;
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
  readonly kind: FailureKind | undefined;
  /** It was about our key, and the provider has another one that can be used at once. */
  readonly hasOtherKey: boolean;
  /** Undefined: its answer came completely. */
  readonly failure: UpstreamFailure | undefined;
  readonly answer: { readonly head: AnswerHead };
  /** That of the answer, or of the error within it. */
  readonly status: number;
  /** The wait that the body of its answer names; absent: none. Milliseconds. */
  readonly waitMs?: number | undefined;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

type MaybePlanned<Target> = Planned<Target> | undefined;
type NextStep<Target> = Planned<Target> | number | undefined;
type Taken<Target> = Planned<Target> | 'no room' | 'no budget';

/** A target, and what its rules have admitted; no lease: nothing. */
interface Admitted<Target> {
  readonly target: Target;
  readonly lease: Lease | undefined;
  readonly matches: Matches;
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
  /** The targets that were passed over because they are taken out; undefined: none was. */
  drained: Map<Target, TargetDrain> | undefined;
  /** The most calls. */
  readonly #mostCalls: number;
  /** Targets that were passed over, because they are likely to fail, stand at its end. */
  #order: readonly Target[];
  #passedOver = 0;
  /** Of the next target that was not asked. */
  #index = 0;
  #calls = 0;
  /** Retries of one target, and the pauses before them. */
  #retries = 0;
  #pausedMs = 0;
  /** The target was asked although it is likely to fail: nothing better is left, so others like it may be asked, too. */
  #isLastResort = false;

  constructor(planning: Planning<Target>, parts: PlanParts) {
    this.#planning = planning;
    this.#order = planning.targets;
    this.#parts = parts;
    const { before, route, targets } = planning;
    this.#calls = before?.calls ?? 0;
    if (before !== undefined) this.latestMs = before.latestMs;
    this.#mostCalls = mostCalls(route.policy, targets.length + this.#calls);
  }

  /** How many were made. */
  get calls(): number {
    return this.#calls;
  }

  /** No other target can be asked behind those that were. */
  get isLast(): boolean {
    if (this.#calls >= this.#mostCalls) return true;
    const { drainOf } = this.#planning;
    return !this.#order.some((target, place) => place >= this.#index && drainOf(target) === undefined);
  }

  /**
   * The next target that has room; undefined: there is none, or the budget is used up. A promise where the state store has to be asked for a
   * rule that the fleet shares. `asksAll`: also one that was passed over.
   */
  next(kind: RetryKind, nowMs: number, asksAll: boolean = false): MaybePlanned<Target> | Promise<MaybePlanned<Target>> {
    const { isUsable, drainOf } = this.#planning;
    while (this.#index < this.#order.length) {
      const isPassedOver = this.#index >= this.#order.length - this.#passedOver;
      if (isPassedOver && !asksAll) return undefined;
      const target = this.#order[this.#index] as Target;
      this.#index += 1;
      const drain = drainOf(target);
      if (drain !== undefined) {
        this.drained ??= new Map();
        this.drained.set(target, drain);
        continue;
      }
      const usable = isUsable(target, nowMs);
      // A target that is likely to fail is asked only when no better one is left.
      if (this.#calls === 0 || isPassedOver) this.#isLastResort = !usable;
      else if (!usable && !this.#isLastResort) {
        this.#passOver(target);
        continue;
      }
      const taken = this.#take(target, kind, nowMs);
      if (taken instanceof Promise)
        return taken.then((known) =>
          known === 'no room' ? this.next(kind, this.#nowMs(), asksAll) : this.#withinBudget(known),
        );
      if (taken !== 'no room') return this.#withinBudget(taken);
    }
    return undefined;
  }

  #passOver(target: Target): void {
    this.#index -= 1;
    this.#order = [...this.#order.toSpliced(this.#index, 1), target];
    this.#passedOver += 1;
  }

  /** Undefined: no further call may be made; the target may be asked another time. */
  #withinBudget(taken: Planned<Target> | 'no budget'): MaybePlanned<Target> {
    if (taken !== 'no budget') return taken;
    this.#index -= 1;
    return undefined;
  }

  #nowMs(): number {
    return Math.floor(this.#parts.nowMs());
  }

  /** Asks the target once more; undefined: it is taken out or has no room, or the budget is used up. */
  again(target: Target, nowMs: number): MaybePlanned<Target> | Promise<MaybePlanned<Target>> {
    if (this.#planning.drainOf(target) !== undefined) return undefined;
    return followed(this.#take(target, 'retry', nowMs), (taken) => (typeof taken === 'string' ? undefined : taken));
  }

  /** A call that was planned is not made: its target's rules get back what it took. */
  leave({ allowance }: Planned<Target>, nowMs: number): void {
    this.#calls -= 1;
    allowance.lease.refund(nowMs);
  }

  /** Whether another call may be made behind a failure of this kind. */
  mayAskOn(kind: FailureKind | undefined, nowMs: number): boolean {
    return kind !== undefined && this.#planning.route.policy.on.has(kind) && this.hasTimeAndCalls(nowMs);
  }

  /** Whether another target could be asked now, if the one that is asked took too long; what its rules say is not known. */
  hasNext(nowMs: number): boolean {
    const { route, drainOf, isUsable } = this.#planning;
    if (!this.mayAskOn('timeout', nowMs) || !this.#parts.retries.allows(route, 'failover', nowMs)) return false;
    return this.#order.some(
      (target, place) =>
        place >= this.#index && drainOf(target) === undefined && (this.#isLastResort || isUsable(target, nowMs)),
    );
  }

  hasTimeAndCalls(nowMs: number): boolean {
    const { before, route, startedAtMs } = this.#planning;
    const { deadlineMs = Number.POSITIVE_INFINITY } = route.policy;
    const latestMs = Math.min((before?.startedAtMs ?? startedAtMs) + deadlineMs, this.latestMs - deadlineLagMs);
    return nowMs < latestMs && this.#calls < this.#mostCalls;
  }

  /**
   * The step after a failure: a target that is asked now, or the pause in milliseconds before the failed one is asked
   * again; undefined: none may be asked.
   */
  after(failed: PlannedFailure<Target>, nowMs: number): NextStep<Target> | Promise<NextStep<Target>> {
    const { target, kind, hasOtherKey } = failed;
    if (!this.mayAskOn(kind, nowMs)) return undefined;
    const same = hasOtherKey ? this.again(target, nowMs) : undefined;
    // Behind a 429 the client is told when a target has room; no other failure tells it what to do, so all that are left are asked.
    const planned = followed(same, (found) => found ?? this.next('failover', nowMs, failed.status !== 429));
    return followed<MaybePlanned<Target>, NextStep<Target>>(planned, (found) => found ?? this.#pauseOf(failed));
  }

  /** The pause before the failed target is asked again; undefined: it may not be. Milliseconds. */
  #pauseOf(failed: PlannedFailure<Target>): number | undefined {
    const { target, kind, failure, answer, status, waitMs } = failed;
    const { head } = answer;
    const isQuick = failed.endedAtMs - failed.startedAtMs < target.upstream.connectTimeoutMs;
    const { attempts } = this.#planning.route.policy;
    // One that is alone is asked once more without being told to, because no other one can answer.
    const isAlone = this.#planning.targets.length === 1 && this.#retries === 0;
    const said = { kind, failure, status, head, waitMs, isQuick, isWanted: attempts !== undefined || isAlone };
    const before = { retries: this.#retries, pausedMs: this.#pausedMs };
    const pauseMs = sameTargetPauseMs(said, before, this.#parts.nowMs, Math.random);
    if (pauseMs === undefined) return undefined;
    this.#retries += 1;
    this.#pausedMs += pauseMs;
    return pauseMs;
  }

  /** Takes one request from the rules of a target, and a further call from the budget. */
  #take(target: Target, kind: RetryKind, nowMs: number): Taken<Target> | Promise<Taken<Target>> {
    const { targets, matchesOf, wantedAt } = this.#planning;
    const matches = matchesOf(target);
    const rejectedAs = targets.length === 1 ? 'reject' : 'skip_target';
    const admission = this.#parts.limiter.admitSoon(matches, nowMs, { rejectedAs, wanted: wantedAt(target) });
    if (admission instanceof Promise)
      return admission.then(({ lease }) => this.#call({ target, lease, matches }, kind, this.#nowMs()));
    return this.#call({ target, lease: admission.lease, matches }, kind, nowMs);
  }

  #call({ target, lease, matches }: Admitted<Target>, kind: RetryKind, nowMs: number): Taken<Target> {
    const { route } = this.#planning;
    const { retries } = this.#parts;
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
