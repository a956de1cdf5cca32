// Asks the targets of a route for something that needs no relaying of an answer, in their order, until one grants it. The rules for
// skipping, failing over and paying are those of model calls (stages/attempt.ts); a target is not hedged, nor asked again after a pause.
import { CallContext, nothingSaid } from '../call/thread.ts';
import type { Refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { noteAnswered, noteRefused } from '../routing/retry/note-outcome.ts';
import type { RetryKind } from '../routing/retry/retry-budgets.ts';
import { mostCalls } from '../snapshot/retry-policy.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import type { Allowance, ConsumerAllowance } from '../stages/admit.ts';
import { lastWord } from '../stages/last-word.ts';
import type { AnswerHead } from '../upstream/answer-head.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import type { UpstreamFailure } from '../upstream/failure.ts';

type Parts = Pick<Gateway, 'balance' | 'limiter' | 'metrics' | 'nowMs' | 'retries' | 'targets'>;

/** What a target has said. `status` 0: nothing. */
interface Said {
  readonly status: number;
  readonly head: AnswerHead;
  /** What the span of the request is called; undefined: no traces are made. */
  readonly spanId: string | undefined;
}

/** It grants what was asked for, or refuses. */
export type Reply<Value> =
  | (Said & { readonly value: Value; readonly refused?: undefined })
  | (Said & { readonly refused: Refusal; readonly failure: UpstreamFailure | undefined });

/** What is asked for. */
export interface Question<Value> {
  readonly route: Route;
  readonly consumer: ConsumerAllowance;
  readonly rawHeaders: readonly string[];
  /** Never rejects. */
  readonly ask: (target: Target, key: ApiKey) => Promise<Reply<Value>>;
  /** The client has left. */
  readonly gone: AbortSignal;
}

/** A target that was asked. Moments in milliseconds of the gateway's clock. */
interface Asked {
  readonly target: Target;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly answer: { readonly status: number };
  readonly spanId: string | undefined;
}

export interface AskedInVain extends Asked {
  readonly refused: Refusal;
  /** The request reached the provider, as far as is known. */
  readonly isSent: boolean;
}

export interface Granted<Value> extends Asked {
  readonly refused: undefined;
  readonly value: Value;
  readonly head: AnswerHead;
  /** Held under the rules of the provider and the model. */
  readonly allowance: Allowance;
}

/**
 * Rejects with the last word of the targets. Those that were asked in vain are added to `failed`; they hold nothing any more, and neither does
 * the consumer when none was asked.
 */
export function askTargets<Value>(
  question: Question<Value>,
  failed: AskedInVain[],
  parts: Parts,
): Promise<Granted<Value>> {
  return new Asking(question, failed, parts).run();
}

class Asking<Value> {
  readonly #question: Question<Value>;
  readonly #failed: AskedInVain[];
  readonly #parts: Parts;
  /** Still to be asked. */
  readonly #targets: Target[];
  readonly #startedAtMs: number;
  #calls = 0;
  #isLastResort = false;
  #kind: RetryKind = 'failover';

  constructor(question: Question<Value>, failed: AskedInVain[], parts: Parts) {
    this.#question = question;
    this.#failed = failed;
    this.#parts = parts;
    this.#startedAtMs = this.#now();
    const context = new CallContext(this.#startedAtMs, question.rawHeaders, nothingSaid);
    this.#targets = [...parts.balance(question.route, context)];
  }

  async run(): Promise<Granted<Value>> {
    const { route, consumer } = this.#question;
    try {
      this.#parts.retries.note(route, this.#startedAtMs);
      const isOnly = this.#targets.length === 1;
      for (let target = this.#targets.shift(); target !== undefined; target = this.#targets.shift()) {
        const allowance = this.#admit(target, isOnly);
        if (allowance === undefined) continue;
        if (allowance === 'no budget') break;
        const granted = await this.#ask(target, allowance);
        if (granted !== undefined) return granted;
      }
      throw lastWord(this.#failed, this.#question, this.#parts, this.#now());
    } catch (error) {
      if (this.#calls === 0) consumer.lease.refund(this.#now());
      throw error;
    }
  }

  /** Undefined: it has no room, or is likely to fail while better ones were there. */
  #admit(target: Target, isOnly: boolean): Allowance | 'no budget' | undefined {
    const { limiter, retries, targets } = this.#parts;
    const now = this.#now();
    const isUsable = targets.of(target).isUsable(now);
    if (this.#calls === 0) this.#isLastResort = !isUsable;
    else if (!isUsable && !this.#isLastResort) return undefined;
    const matches = limiter.forTarget(target.upstream.name, target.model);
    const { lease } = limiter.admit(matches, now, isOnly ? 'reject' : 'skip_target');
    if (lease === undefined) return undefined;
    if (this.#calls > 0 && !retries.take(this.#question.route, this.#kind, now)) {
      lease.refund(now);
      return 'no budget';
    }
    return { lease, matches };
  }

  async #ask(target: Target, allowance: Allowance): Promise<Granted<Value> | undefined> {
    const { ask, gone } = this.#question;
    const { metrics, targets } = this.#parts;
    const { credentials } = target.upstream;
    const state = targets.of(target);
    const startedAtMs = this.#now();
    const role = state.breaker.begin(startedAtMs);
    const key = credentials.pick(startedAtMs, state.quota);
    this.#calls += 1;
    const reply = await ask(target, key);
    const { status, head, spanId } = reply;
    const endedAtMs = this.#now();
    if (status !== 0) credentials.answered(key, status, head, endedAtMs);
    const asked = { target, startedAtMs, endedAtMs, answer: { status }, spanId };
    const called = { target, state, role, key, answer: { status, head, stream: true }, startedAtMs };
    if (reply.refused === undefined) {
      noteAnswered(called, endedAtMs, false, metrics.upstream);
      metrics.upstream.ended(target, 'success', (endedAtMs - startedAtMs) / 1000);
      return { ...asked, refused: undefined, value: reply.value, head, allowance };
    }
    const { refused, failure } = reply;
    // A provider that was never reached has executed nothing.
    if (failure?.sent === false) allowance.lease.refund(endedAtMs);
    else allowance.lease.release();
    this.#failed.push({ ...asked, refused, isSent: failure?.sent !== false });
    const brokenOff = gone.aborted ? 'cancelled' : undefined;
    const outcome = { refused, failure, brokenOff, isCall: true, isBoundToKey: false } as const;
    const { kind, hasOtherKey } = noteRefused(called, outcome, endedAtMs, metrics.upstream);
    const mayGoOn = !gone.aborted && kind !== undefined && this.#question.route.policy.on.has(kind);
    if (!mayGoOn || !this.#hasTimeAndCalls(endedAtMs)) this.#targets.length = 0;
    else if (hasOtherKey) this.#targets.unshift(target);
    this.#kind = hasOtherKey ? 'retry' : 'failover';
    return undefined;
  }

  #hasTimeAndCalls(nowMs: number): boolean {
    const { policy, targets } = this.#question.route;
    const { deadlineMs = Number.POSITIVE_INFINITY } = policy;
    return nowMs < this.#startedAtMs + deadlineMs && this.#calls < mostCalls(policy, targets.length);
  }

  #now(): number {
    return Math.floor(this.#parts.nowMs());
  }
}
