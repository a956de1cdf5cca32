// Asks the targets of an opaque call in their order, by the rules of model calls (stages/call-plan.ts), for as long as its body can be sent
// again. What names no model is asked of one target, once.

import type { Refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { Exchange } from '../http/exchange.ts';
import { rulesOfTarget } from '../limits/counted-rules.ts';
import { rejectTargets } from '../limits/rejection.ts';
import type { RecordedAttempt } from '../records/attempts.ts';
import type { Route } from '../snapshot/snapshot.ts';
import { type ConsumerAllowance, limitRefusal } from '../stages/admit.ts';
import { CallPlan, type Planned } from '../stages/call-plan.ts';
import { lastWord } from '../stages/last-word.ts';
import type { OpaqueMethod } from '../upstream/send-opaque.ts';
import { type AskedTarget, askOpaque, type OpaqueAsker, type OpaqueFailure } from './ask-opaque.ts';
import type { Aim, OpaqueDoor, OpaqueTarget } from './door.ts';

/** Whose call it is. */
export interface OpaqueCaller {
  readonly method: OpaqueMethod;
  readonly exchange: Exchange;
  readonly door: Pick<OpaqueDoor, 'counts'>;
  /** What went wrong on the client's side while a provider was asked. */
  readonly fault: Refusal | undefined;
  /** The targets that were asked in vain; they hold nothing any more. */
  readonly failed: RecordedAttempt[];
  /** The answer can be relayed; the allowance is held. */
  takeAnswer(asked: AskedTarget): void;
  /** There is none: a Refusal, or something unexpected; nothing is held. */
  refuse(error: unknown): void;
}

/** A call whose targets are being asked. */
export interface OpaqueAttempt {
  /** Nothing more is asked; the caller is told the rest. */
  cancel(): void;
}

type Parts = Parameters<typeof askOpaque>[3] & Pick<Gateway, 'limiter' | 'retries'>;

/** Who is asked once: no other has what is asked for. */
const once: Pick<Route, 'source' | 'policy' | 'hedge'> = {
  source: '',
  policy: { attempts: 1, budget: undefined, on: new Set(), deadlineMs: undefined },
  hedge: false,
};

/**
 * Asks the first target that has room. Throws 429 `rate_limit_exceeded` when none has; the consumer is given back what it paid. Later the caller
 * is told of an answer, or of the last word of the targets.
 */
export function attemptOpaque(
  aim: Aim,
  consumer: ConsumerAllowance,
  caller: OpaqueCaller,
  parts: Parts,
): OpaqueAttempt {
  const attempts = new OpaqueAttempts(aim, consumer, caller, parts);
  attempts.start();
  return attempts;
}

class OpaqueAttempts implements OpaqueAsker, OpaqueAttempt {
  readonly #aim: Aim;
  readonly #consumer: ConsumerAllowance;
  readonly #caller: OpaqueCaller;
  readonly #parts: Parts;
  readonly #plan: CallPlan<OpaqueTarget>;
  readonly #startedAtMs: number;
  /** Of the target that is being asked. */
  #cancel: (() => void) | undefined;
  #pause: NodeJS.Timeout | undefined;

  constructor(aim: Aim, consumer: ConsumerAllowance, caller: OpaqueCaller, parts: Parts) {
    const { limiter, nowMs, targets } = parts;
    this.#aim = aim;
    this.#consumer = consumer;
    this.#caller = caller;
    this.#parts = parts;
    this.#startedAtMs = Math.floor(nowMs());
    this.#plan = new CallPlan(
      {
        targets: aim.targets,
        route: aim.route ?? once,
        matchesOf: (target) => rulesOfTarget(caller.door.counts, target, limiter),
        isUsable: (target, now) => targets.of(target.remembered ?? target).isUsable(now),
        startedAtMs: this.#startedAtMs,
      },
      parts,
    );
  }

  get method(): OpaqueMethod {
    return this.#caller.method;
  }

  get exchange(): Exchange {
    return this.#caller.exchange;
  }

  get fault(): Refusal | undefined {
    return this.#caller.fault;
  }

  start(): void {
    const now = this.#startedAtMs;
    if (this.#aim.route !== undefined) this.#parts.retries.note(this.#aim.route, now);
    const first = this.#plan.next('failover', now);
    if (first === undefined) throw this.#saturated(now);
    this.#send(first);
  }

  cancel(): void {
    if (this.#pause === undefined) {
      this.#cancel?.();
      return;
    }
    clearTimeout(this.#pause);
    this.#caller.refuse(this.fault);
  }

  takeAnswer(asked: AskedTarget): void {
    this.#caller.takeAnswer(asked);
  }

  takeFailure({ reply, ...asked }: AskedTarget, failed: OpaqueFailure): void {
    const { refused, failure } = failed;
    const { answer } = reply;
    this.#caller.failed.push({ ...asked, refused, answer, isSent: failure?.sent !== false });
    try {
      this.#goOn({ ...asked, ...failed, answer }, Math.floor(asked.endedAtMs));
    } catch (error) {
      this.#caller.refuse(error);
    }
  }

  refuse(error: unknown): void {
    this.#caller.refuse(error);
  }

  /** Asks another target, or this one again; throws the last word when neither may be. */
  #goOn(
    failed: Omit<AskedTarget, 'reply'> & OpaqueFailure & { readonly answer: AskedTarget['reply']['answer'] },
    nowMs: number,
  ): void {
    const { canSend = () => true } = this.#aim;
    const isOver = this.exchange.gone || this.fault !== undefined || !canSend();
    const next = isOver ? undefined : this.#plan.after(failed, nowMs);
    // Why nothing more comes of it may be what its client did.
    if (next === undefined) throw this.fault ?? this.#lastWord(failed.refused, nowMs);
    if (typeof next === 'number') this.#askAgain(failed, next);
    else this.#send(next);
  }

  #send({ target, allowance }: Planned<OpaqueTarget>): void {
    this.#cancel = askOpaque(target, allowance, this, this.#parts);
  }

  /** Asks the same target once more, after a pause. */
  #askAgain(
    { target, refused }: Pick<OpaqueFailure, 'refused'> & { readonly target: OpaqueTarget },
    pauseMs: number,
  ): void {
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      const now = Math.floor(this.#parts.nowMs());
      try {
        const again = this.#plan.again(target, now);
        if (again === undefined) throw this.#lastWord(refused, now);
        this.#send(again);
      } catch (error) {
        this.#caller.refuse(error);
      }
    }, pauseMs);
  }

  #saturated(nowMs: number): Refusal {
    const { limiter, metrics } = this.#parts;
    const { lease, matches, told } = this.#consumer;
    const rules = this.#aim.targets.map((target) => rulesOfTarget(this.#caller.door.counts, target, limiter));
    lease.refund(nowMs);
    return limitRefusal(rejectTargets(rules, matches, nowMs), told, metrics);
  }

  /** `refused`: that of the target asked last. */
  #lastWord(refused: Refusal, nowMs: number): Refusal {
    const { route } = this.#aim;
    if (route === undefined) return refused;
    const failed = this.#caller.failed.flatMap((attempt) => {
      const target = (attempt.target as OpaqueTarget).remembered;
      return target === undefined || attempt.refused === undefined ? [] : [{ target, refused: attempt.refused }];
    });
    return lastWord(failed, { route, consumer: this.#consumer }, this.#parts, nowMs);
  }
}
