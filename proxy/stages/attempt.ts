// Stage 7: tries the targets in order until one gives an answer that can be relayed.
import type { Answer } from '../answer.ts';
import { failedOutcome } from '../attempt-outcome.ts';
import type { Call } from '../call/call.ts';
import { addForwarded } from '../call/forwarded-headers.ts';
import { CallContext } from '../call/thread.ts';
import type { Exchange } from '../connection/exchange.ts';
import type { Operation } from '../dialects/dialect.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { rejectTargets } from '../limits/rejection.ts';
import { failureRefusal, invalid, rejectionOf } from '../providers/provider-error.ts';
import { passableId } from '../providers/upstream-id.ts';
import type { Route, Target, Upstream } from '../snapshot/snapshot.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import type { UpstreamFailure } from '../upstream/failure.ts';
import { send } from '../upstream/send.ts';
import type { UpstreamAnswer } from '../upstream/upstream-answer.ts';
import { type Allowance, type ConsumerAllowance, limitRefusal, targetRules } from './admit.ts';

/** A call, where it may go, and what its consumer was allowed. */
export interface RoutedCall {
  readonly operation: Operation;
  readonly call: Call;
  readonly route: Route;
  readonly consumer: ConsumerAllowance;
}

/** A target that was asked. Moments in milliseconds of the gateway's clock. */
interface Attempt {
  readonly target: Target;
  readonly startedAtMs: number;
  /** When its answer could be relayed, or it had failed. */
  readonly endedAtMs: number;
}

/** A target whose answer is relayed. */
export interface Accepted extends Attempt {
  readonly routed: RoutedCall;
  readonly refused: undefined;
  readonly answer: Answer;
  /** What the request holds under the rules of its provider and model. */
  readonly allowance: Allowance;
  /** The stream's usage event exists only because the gateway asked for it. */
  readonly injectedUsage: boolean;
  /** The provider's id of the request, as it may be shown. */
  readonly upstreamId: string | undefined;
}

/** A target whose answer is not relayed, or that gave none. */
export interface FailedAttempt extends Attempt {
  readonly refused: Refusal;
  /** As much of an answer as came. */
  readonly answer: Answer | undefined;
  /** Another target may be asked. */
  readonly isRetryable: boolean;
}

type Parts = Pick<Gateway, 'balance' | 'limiter' | 'metrics' | 'pools' | 'deadlines' | 'usageEnabled' | 'nowMs'>;

/** What targets are asked for. */
export interface AnswerTaker {
  /** The targets that failed; their slots are given back. */
  readonly failed: FailedAttempt[];
  takeAnswer(accepted: Accepted): void;
  /** There is none: a Refusal, or an unexpected error. */
  refuse(reason: unknown): void;
}

/**
 * Sends the call to one target of the route after the other. One whose provider or model rules are used up is skipped; after a
 * failure the next is tried only when it is safe: the request was never sent, or the provider refused it (429 or 5xx). Refuses with the
 * last target's Refusal, or 429 when all are used up (see `saturated`); then no call was made, and the consumer gets back what it
 * paid. When the client leaves while the provider works, the unfinished answer is taken, because it has cost something.
 */
export function attempt(routed: RoutedCall, exchange: Exchange, parts: Parts, taker: AnswerTaker): void {
  new Attempts(routed, exchange, parts, taker).next();
}

/** A target that is being asked, and what the request holds under its rules. */
interface Asking {
  readonly target: Target;
  readonly allowance: Allowance;
  readonly startedAtMs: number;
  readonly answer: UpstreamAnswer;
  /** The provider's key that it is asked with. */
  readonly key: ApiKey;
  readonly injectedUsage: boolean;
}

/** The targets of one call: those that were asked, and those that are left. */
class Attempts {
  readonly #routed: RoutedCall;
  readonly #exchange: Exchange;
  readonly #parts: Parts;
  readonly #taker: AnswerTaker;
  /** In the order in which they are asked; undefined before the first is. */
  #targets: readonly Target[] | undefined;
  #index = 0;
  #isCalled = false;
  #last: Refusal | undefined;

  constructor(routed: RoutedCall, exchange: Exchange, parts: Parts, taker: AnswerTaker) {
    this.#routed = routed;
    this.#exchange = exchange;
    this.#parts = parts;
    this.#taker = taker;
  }

  /** Asks the next target that has room, or refuses. */
  next(): void {
    let refused: unknown;
    try {
      const reason = this.#ask();
      if (reason === undefined) return;
      refused = reason;
    } catch (error) {
      refused = error;
    }
    if (!this.#isCalled) this.#routed.consumer.lease.refund(Math.floor(this.#parts.nowMs()));
    this.#taker.refuse(refused);
  }

  /** Undefined when a target is being asked, else why none is. */
  #ask(): Refusal | undefined {
    const { limiter, balance, nowMs } = this.#parts;
    // One moment for all that are asked without a pause: what was used up a moment ago must still be so in the answer.
    const now = Math.floor(nowMs());
    const { route, call } = this.#routed;
    this.#targets ??= balance(route, new CallContext(now, this.#exchange.request.rawHeaders, call));
    const targets = this.#targets;
    const rejectedAs = targets.length === 1 ? 'reject' : 'skip_target';
    for (; this.#index < targets.length; this.#index += 1) {
      if (this.#exchange.gone) return refusal('client_left');
      const target = targets[this.#index] as Target;
      const matches = limiter.forTarget(target.upstream.name, target.model);
      const { lease } = limiter.admit(matches, now, rejectedAs);
      if (lease === undefined) continue;
      this.#isCalled = true;
      this.#index += 1;
      this.#send(target, { lease, matches }, now);
      return undefined;
    }
    return this.#last ?? saturated(this.#routed, this.#parts, now);
  }

  #send(target: Target, allowance: Allowance, startedAtMs: number): void {
    try {
      const { answer, key, injectedUsage } = ask(target, this.#routed, this.#exchange, this.#parts);
      const asking = { target, allowance, startedAtMs, answer, key, injectedUsage };
      answer.whenReady((failure) => this.#judge(asking, failure));
    } catch (error) {
      allowance.lease.release();
      throw error;
    }
  }

  /** Something has come of asking a target. */
  #judge(asking: Asking, failure: UpstreamFailure | undefined): void {
    const { target, allowance, startedAtMs, answer, injectedUsage } = asking;
    const endedAtMs = this.#parts.nowMs();
    if (failure === undefined) target.upstream.credentials.answered(asking.key, answer.status, answer.head, endedAtMs);
    let refused: Refusal | undefined;
    try {
      refused = refusalOf(asking, failure, this.#exchange, this.#parts.nowMs);
    } catch (error) {
      this.#parts.metrics.upstream.ended(target, 'cancelled', 0);
      answer.cancel();
      allowance.lease.release();
      this.#taker.refuse(error);
      return;
    }
    const seconds = (endedAtMs - startedAtMs) / 1000;
    const { gone } = this.#exchange;
    if (refused === undefined) {
      if (!gone) this.#parts.metrics.upstream.begun(target, seconds);
      const upstreamId = passableId(answer.head.requestId, target.upstream.secrets);
      const accepted = {
        routed: this.#routed,
        target,
        startedAtMs,
        endedAtMs,
        refused,
        answer,
        allowance,
        injectedUsage,
        upstreamId,
      };
      this.#taker.takeAnswer(accepted);
      return;
    }
    this.#parts.metrics.upstream.ended(target, failedOutcome(refused, gone && failure !== undefined), seconds);
    answer.cancel();
    // A provider that was never reached has executed nothing.
    if (failure?.sent === false) allowance.lease.refund(Math.floor(endedAtMs));
    else allowance.lease.release();
    const isRetryable = failure === undefined ? answer.status === 429 || answer.status >= 500 : !failure.sent;
    this.#taker.failed.push({ target, startedAtMs, endedAtMs, refused, answer, isRetryable });
    this.#last = refused;
    if (isRetryable) this.next();
    else this.#taker.refuse(refused);
  }
}

/** Sends the call to one target. */
function ask(
  target: Target,
  { operation, call }: RoutedCall,
  exchange: Exchange,
  { pools, deadlines, usageEnabled }: Parts,
): Pick<Asking, 'answer' | 'key' | 'injectedUsage'> {
  const { upstream } = target;
  const { path, body, injectedUsage } = upstream.dialect.request(operation, call, target, usageEnabled);
  const key = upstream.credentials.pick(deadlines.coarseNowMs);
  const headers = [...key.headers, 'x-request-id', exchange.id];
  const { forwarded } = upstream;
  if (forwarded !== undefined) addForwarded(headers, exchange.request.rawHeaders, forwarded);
  const outgoing = { path: upstream.basePath + path + upstream.query, headers, body };
  const answer = send(pools.get(upstream), outgoing, upstream.patience, deadlines);
  exchange.waiting = answer;
  return { answer, key, injectedUsage };
}

/** Why an answer cannot be relayed; undefined when it can. */
function refusalOf(
  { target: { upstream }, answer, injectedUsage }: Asking,
  failure: UpstreamFailure | undefined,
  { gone }: Exchange,
  nowMs: () => number,
): Refusal | undefined {
  // Of an answer that was under way when the client left, what has come is measured.
  if (failure !== undefined && !(gone && failure.sent)) return failureRefusal(failure, upstream, answer.head);
  if (gone && answer.status < 400) return undefined;
  return rejectionOf(answer, upstream, nowMs) ?? (injectedUsage ? unreadable(answer, upstream) : undefined);
}

/** A stream that cannot be decoded would hide the usage event that the client must not see. */
function unreadable(answer: UpstreamAnswer, upstream: Upstream): Refusal | undefined {
  const { stream, contentEncoding } = answer;
  if (!stream || contentEncoding === undefined) return undefined;
  return invalid(answer, upstream, `it is encoded as ${contentEncoding}, although plain bytes were asked for`);
}

/**
 * Every target is used up: the wait is the first second at which a retry would be admitted by the consumer's rules and by all rules
 * of some target; the answer speaks of the rule that decides it. The consumer gets back what it paid first, else its own request
 * would stand in its way.
 */
function saturated({ route, consumer }: RoutedCall, { limiter, metrics }: Parts, nowMs: number): Refusal {
  consumer.lease.refund(nowMs);
  return limitRefusal(rejectTargets(targetRules(route, limiter), consumer.matches, nowMs), consumer.told, metrics);
}
