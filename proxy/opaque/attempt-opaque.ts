// Stage 7 for opaque calls: how one target is sent the call, and whether its answer is relayed. The loop over targets is in
// routing/target-loop.ts; what names no model is asked of one target, once.
import type { Refusal } from '../errors.ts';
import type { Exchange } from '../http/exchange.ts';
import { rulesOfTarget } from '../limits/counted-rules.ts';
import type { Matches } from '../limits/match.ts';
import { keyHeaders } from '../providers/key-headers.ts';
import { failureRefusal, statusRejection } from '../providers/provider-error.ts';
import type { Telemetry } from '../records/spans/telemetry.ts';
import type { Allowance, ConsumerAllowance } from '../routing/limit-refusal.ts';
import type { BegunCall, Errand, FailedCall, TargetCall } from '../routing/target-call.ts';
import { type LoopParts, TargetLoop } from '../routing/target-loop.ts';
import type { Route } from '../snapshot/snapshot.ts';
import { type Expected, wantedAt } from '../stages/expect.ts';
import type { TargetState } from '../targets/target-state.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import type { Deadlines } from '../upstream/deadlines.ts';
import type { UpstreamFailure } from '../upstream/failure.ts';
import type { Pools } from '../upstream/pools.ts';
import { type OpaqueAnswer, type OpaqueMethod, sendOpaque } from '../upstream/send-opaque.ts';
import type { UpstreamAnswer } from '../upstream/upstream-answer.ts';
import type { Aim, OpaqueDoor, OpaqueTarget } from './door.ts';

/** A target whose answer is relayed. Moments in milliseconds of the gateway's clock. */
export interface AskedTarget {
  readonly target: OpaqueTarget;
  readonly allowance: Allowance;
  readonly state: TargetState;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** The name of its span; undefined: no traces are made. */
  readonly spanId: string | undefined;
  readonly reply: OpaqueAnswer;
}

/** A target whose answer is not relayed, or that gave none. */
export type FailedOpaque = FailedCall<OpaqueTarget> & { readonly answer: UpstreamAnswer };

/** Whose call it is. */
export interface OpaqueCaller {
  readonly method: OpaqueMethod;
  readonly exchange: Exchange;
  readonly door: Pick<OpaqueDoor, 'counts'>;
  /** Undefined: none is known. */
  readonly principal?: { readonly labels?: readonly string[] | undefined } | undefined;
  /** What it will probably take; undefined: nothing is set aside for it. */
  readonly expected: Expected | undefined;
  /** The fault of the client while a provider was asked; undefined: none. */
  readonly fault: Refusal | undefined;
  /** The targets that were asked in vain are added here. */
  readonly failed: FailedOpaque[];
}

interface OpaqueAttemptParts extends LoopParts {
  readonly deadlines: Deadlines;
  readonly pools: Pools;
  readonly telemetry?: Telemetry | undefined;
}

/** A call that was sent. */
interface OpaqueCall extends TargetCall<OpaqueTarget> {
  readonly answer: UpstreamAnswer;
  readonly reply: OpaqueAnswer;
}

/** A call whose targets are being asked. */
export interface OpaqueAttempt {
  /** Rejects with the last word of the targets, or with an unexpected error. */
  readonly answered: Promise<AskedTarget>;
  /** Nothing more is asked. */
  cancel(): void;
}

/** Asks the targets of an aim until one gives an answer that is relayed. */
export function attemptOpaque(
  aim: Aim,
  consumer: ConsumerAllowance,
  caller: OpaqueCaller,
  parts: OpaqueAttemptParts,
): OpaqueAttempt {
  const errand = new OpaqueErrand(aim, consumer, caller, parts);
  const loop = new TargetLoop(errand, parts, ({ call, endedAtMs }): AskedTarget => ({ ...call, endedAtMs }));
  return { answered: loop.run(), cancel: () => loop.gone() };
}

class OpaqueErrand implements Errand<OpaqueTarget, OpaqueCall> {
  readonly targets: readonly OpaqueTarget[];
  readonly route: Route | undefined;
  readonly startedAtMs: number;
  readonly consumer: ConsumerAllowance;
  readonly failed: FailedOpaque[];
  readonly canHedge = false;
  readonly isStream = false;
  readonly isBoundToKey: boolean;
  readonly #aim: Aim;
  readonly #caller: OpaqueCaller;
  readonly #parts: OpaqueAttemptParts;

  constructor(aim: Aim, consumer: ConsumerAllowance, caller: OpaqueCaller, parts: OpaqueAttemptParts) {
    this.targets = aim.targets;
    this.startedAtMs = Math.floor(parts.nowMs());
    this.route = aim.route;
    this.consumer = consumer;
    this.failed = caller.failed;
    this.isBoundToKey = aim.targets.some(({ key }) => key !== undefined);
    this.#aim = aim;
    this.#caller = caller;
    this.#parts = parts;
  }

  get labels(): readonly string[] | undefined {
    return this.#caller.principal?.labels;
  }

  get fault(): Refusal | undefined {
    return this.#caller.fault;
  }

  get isLeft(): boolean {
    return this.#caller.exchange.gone || this.fault !== undefined;
  }

  get canSend(): boolean {
    return this.#aim.canSend?.() ?? true;
  }

  noteFailed(failed: FailedOpaque): void {
    this.failed.push(failed);
  }

  matchesOf(target: OpaqueTarget): Matches {
    return rulesOfTarget(this.#caller.door.counts, target, this.#parts.limiter);
  }

  wantedAt(target: OpaqueTarget): number {
    return wantedAt(target, this.matchesOf(target), this.#caller.expected, this.#parts.limiter);
  }

  stateOf(target: OpaqueTarget): TargetState {
    return this.#parts.targets.of(target.remembered ?? target);
  }

  keyOf({ key }: OpaqueTarget): ApiKey | undefined {
    return key;
  }

  send(begun: BegunCall<OpaqueTarget>): OpaqueCall {
    const { target, key, isFresh, startedAtMs } = begun;
    const { pools, deadlines, telemetry } = this.#parts;
    const { method, exchange } = this.#caller;
    const { upstream, path, keyStyle } = target;
    const body = target.body();
    const headers = [
      ...keyHeaders(key.style ?? keyStyle, key.secret),
      ...upstream.headers,
      'accept-encoding',
      'identity',
    ];
    headers.push('x-request-id', exchange.id, ...target.headers);
    const spanId = telemetry?.propagate(exchange, headers);
    const isPaced = !Buffer.isBuffer(body);
    if (key.signer !== undefined && !isPaced)
      headers.push(...key.signer.sign({ method, path, headers, body }, startedAtMs));
    const outgoing = { method, path, headers, body, isFresh };
    const reply = sendOpaque(pools.get(upstream), outgoing, upstream.patience, deadlines);
    return { ...begun, answer: reply.answer, spanId, isPaced, reply };
  }

  read(): undefined {
    return undefined;
  }

  refusalOf({ target, answer }: OpaqueCall, failure: UpstreamFailure | undefined): Refusal | undefined {
    const { speaker, upstream, isPassed = false } = target;
    const { nowMs } = this.#parts;
    if (failure === undefined) return statusRejection(answer, { speaker, nowMs, isPassed });
    return this.fault ?? failureRefusal(failure, upstream, answer.head);
  }

  usageOf(): undefined {
    return undefined;
  }
}
