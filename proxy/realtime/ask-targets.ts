// Stage 7 for what needs no relaying of an answer: sessions and what they begin with. How one target is asked, and whether it grants that. The
// loop over targets is in routing/target-loop.ts.
import { CallContext, nothingSaid } from '../call/thread.ts';
import type { Refusal } from '../errors.ts';
import type { ModelRequest } from '../http/exchange.ts';
import type { Matches } from '../limits/match.ts';
import type { Balance } from '../routing/balance/balance.ts';
import type { Allowance, ConsumerAllowance } from '../routing/limit-refusal.ts';
import type { BegunCall, CallAnswer, Errand, FailedCall, TargetCall } from '../routing/target-call.ts';
import { type LoopParts, type Taken, TargetLoop } from '../routing/target-loop.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import type { TargetState } from '../targets/target-state.ts';
import { type AnswerHead, noHead } from '../upstream/answer-head.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import type { UpstreamFailure } from '../upstream/failure.ts';

interface SessionAttemptParts extends LoopParts {
  readonly balance: Balance;
}

/** The answer of a target. `status` 0: none came. */
interface Said {
  readonly status: number;
  readonly head: AnswerHead;
  /** The name of the span of the request; undefined: no traces are made. */
  readonly spanId: string | undefined;
}

/** It grants what was asked for, or refuses. */
export type Reply<Value> =
  | (Said & { readonly value: Value; readonly refused?: undefined; readonly failure?: undefined })
  | (Said & { readonly refused: Refusal; readonly failure: UpstreamFailure | undefined });

/** The session that is asked for. */
export interface Question<Value> {
  readonly route: Route;
  readonly consumer: ConsumerAllowance;
  readonly exchange: ModelRequest;
  /** Never rejects. `gone` fires when the answer is not needed any more. */
  readonly ask: (target: Target, key: ApiKey, gone: AbortSignal) => Promise<Reply<Value>>;
}

/** A target that refused, or that could not be asked. */
export type AskedInVain = FailedCall<Target> & { readonly answer: { readonly status: number } };

/** The session that a target has granted. Moments in milliseconds of the gateway's clock. */
export interface Granted<Value> {
  readonly target: Target;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly answer: { readonly status: number };
  readonly spanId: string | undefined;
  readonly refused: undefined;
  readonly value: Value;
  readonly head: AnswerHead;
  /** Held under the rules of the provider and the model. */
  readonly allowance: Allowance;
  readonly state: TargetState;
}

/**
 * Rejects with the last word of the targets. Those that were asked in vain are added to `failed`; they hold nothing any more, and neither does
 * the consumer when none was asked.
 */
export function askTargets<Value>(
  question: Question<Value>,
  failed: AskedInVain[],
  parts: SessionAttemptParts,
): Promise<Granted<Value>> {
  const { exchange } = question;
  const errand = new GrantErrand(question, failed, parts);
  const loop = new TargetLoop(errand, parts, ({ call, endedAtMs }: Taken<GrantCall<Value>>): Granted<Value> => {
    exchange.waiting = undefined;
    const { target, startedAtMs, allowance, state, spanId, answer } = call;
    parts.metrics.upstream.ended(target, 'success', (endedAtMs - startedAtMs) / 1000);
    const { status, head, value } = answer.granted;
    const asked = { target, startedAtMs, endedAtMs, answer: { status }, spanId, head, allowance, state };
    return { ...asked, refused: undefined, value };
  });
  exchange.waiting = loop;
  return loop.run();
}

/** The answer of a target that is read, or dialled, by the one who asks. */
class ReplyAnswer<Value> implements CallAnswer {
  readonly stream = true;
  readonly #gone = new AbortController();
  readonly #coming: Promise<Reply<Value>>;
  #reply: Reply<Value> | undefined;

  constructor(ask: (gone: AbortSignal) => Promise<Reply<Value>>) {
    this.#coming = ask(this.#gone.signal);
  }

  get status(): number {
    return this.#reply?.status ?? 0;
  }

  get head(): AnswerHead {
    return this.#reply?.head ?? noHead;
  }

  get spanId(): string | undefined {
    return this.#reply?.spanId;
  }

  get refused(): Refusal | undefined {
    return this.#reply?.refused;
  }

  get granted(): Extract<Reply<Value>, { readonly refused?: undefined }> {
    if (this.#reply === undefined || this.#reply.refused !== undefined) throw new Error('a target has granted nothing');
    return this.#reply;
  }

  whenReady(listener: (failure: UpstreamFailure | undefined) => void): void {
    void this.#coming.then((reply) => {
      this.#reply = reply;
      listener(reply.failure);
    });
  }

  cancel(): void {
    this.#gone.abort();
  }
}

interface GrantCall<Value> extends TargetCall<Target> {
  readonly answer: ReplyAnswer<Value>;
}

class GrantErrand<Value> implements Errand<Target, GrantCall<Value>> {
  readonly targets: readonly Target[];
  readonly route: Route;
  readonly startedAtMs: number;
  readonly consumer: ConsumerAllowance;
  readonly failed: AskedInVain[];
  readonly canHedge = false;
  readonly canSend = true;
  readonly isStream = true;
  readonly isBoundToKey = false;
  readonly fault = undefined;
  readonly #question: Question<Value>;
  readonly #parts: SessionAttemptParts;

  constructor(question: Question<Value>, failed: AskedInVain[], parts: SessionAttemptParts) {
    const { route, consumer, exchange } = question;
    this.startedAtMs = Math.floor(parts.nowMs());
    const context = new CallContext(this.startedAtMs, exchange.request.rawHeaders, nothingSaid);
    this.targets = parts.balance(route, context);
    this.route = route;
    this.consumer = consumer;
    this.failed = failed;
    this.#question = question;
    this.#parts = parts;
  }

  get isLeft(): boolean {
    return this.#question.exchange.gone;
  }

  noteFailed(failed: AskedInVain): void {
    this.failed.push({ ...failed, answer: { status: failed.answer.status } });
  }

  matchesOf({ upstream, model }: Target): Matches {
    return this.#parts.limiter.forTarget(upstream.name, model);
  }

  /** How much a session will take cannot be foreseen: its tokens count as they come. */
  wantedAt(): number {
    return 0;
  }

  stateOf(target: Target): TargetState {
    return this.#parts.targets.of(target);
  }

  keyOf(): undefined {
    return undefined;
  }

  send(begun: BegunCall<Target>): GrantCall<Value> {
    const { target, key } = begun;
    const answer = new ReplyAnswer((gone) => this.#question.ask(target, key, gone));
    return {
      ...begun,
      answer,
      get spanId() {
        return answer.spanId;
      },
    };
  }

  read(): undefined {
    return undefined;
  }

  refusalOf({ answer }: GrantCall<Value>): Refusal | undefined {
    return answer.refused;
  }

  usageOf(): undefined {
    return undefined;
  }
}
