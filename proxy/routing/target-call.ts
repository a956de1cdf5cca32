// One call of one target: what it holds, what was sent, and what comes of it. What differs between kinds of requests is their errand.

import type { FailureKind } from '../../domain/targets/failure-kind.ts';
import type { Failure } from '../answer.ts';
import type { Refusal } from '../errors.ts';
import type { Matches } from '../limits/match.ts';
import type { Route, Upstream } from '../snapshot/snapshot.ts';
import type { CallRole } from '../targets/breaker.ts';
import type { TargetState } from '../targets/target-state.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import type { AnswerHead } from '../upstream/answer-head.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import type { UpstreamFailure } from '../upstream/failure.ts';
import type { Allowance, ConsumerAllowance } from './limit-refusal.ts';

/** A target that can be asked. */
export interface Askable {
  readonly upstream: Upstream;
  /** The id of the model at its provider; empty: none is known. */
  readonly model: string;
  /** It is asked about an object that it keeps already, which is nothing new: also while it is taken out. */
  readonly isKeeper?: boolean;
}

/** An answer of a target as it arrives. */
export interface CallAnswer {
  /** 0: nothing of it came. */
  readonly status: number;
  readonly head: AnswerHead;
  readonly stream: boolean;
  /** Calls `listener` once: when the answer can be judged, or has failed before. */
  whenReady(listener: (failure: UpstreamFailure | undefined) => void): void;
  cancel(reason?: Failure): void;
}

/** A call that is about to be sent. Moments in milliseconds of the gateway's clock. */
export interface BegunCall<Target> {
  readonly target: Target;
  /** Held under the rules of the provider and the model. */
  readonly allowance: Allowance;
  readonly state: TargetState;
  /** The role of the call for the target's breaker. */
  readonly role: CallRole;
  readonly key: ApiKey;
  readonly startedAtMs: number;
  /** When all calls of the request together must be over. */
  readonly latestMs: number;
  /** Made on a new connection, because the one before, a kept one, had been closed. */
  readonly isFresh: boolean;
  /** No other target can be asked if this call fails. */
  readonly isLast: boolean;
  /** Whether another target could be asked now; absent: none is left. */
  readonly hasNext?: (() => boolean) | undefined;
}

/** A call that was sent. */
export interface TargetCall<Target> extends BegunCall<Target> {
  readonly answer: CallAnswer;
  /** The name of its span; undefined: no traces are made. */
  readonly spanId: string | undefined;
  /** The client's body comes while it is sent: it cannot be sent again, and how long it takes says nothing of the target. */
  readonly isPaced?: boolean;
}

/** A target whose call gave no answer that can be used. It holds nothing any more. */
export interface FailedCall<Target> {
  readonly target: Target;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly spanId: string | undefined;
  readonly refused: Refusal;
  /** The request reached the provider, as far as is known. */
  readonly isSent: boolean;
  /** The usage that is charged although it failed; undefined: none. */
  readonly usage: TokenUsage | undefined;
}

/** The calls of a request before these: its answer broke off in the middle. Moments in milliseconds of the gateway's clock. */
export interface CallsBefore {
  readonly calls: number;
  /** When the first one was asked, and when all together must be over. */
  readonly startedAtMs: number;
  readonly latestMs: number;
  /** Why the answer broke off. */
  readonly kind: FailureKind | undefined;
  readonly refused: Refusal;
}

/** The calls that a kind of request makes to targets. */
export interface Errand<Target extends Askable, Call extends TargetCall<Target>> {
  /** In the order in which they are asked. At least one. */
  readonly targets: readonly Target[];
  /** When the first one is asked. Whole milliseconds of the gateway's clock. */
  readonly startedAtMs: number;
  /** Whose policy says whether and when further calls are made, and whose budget pays for them; undefined: one target is asked, once. */
  readonly route: Route | undefined;
  readonly consumer: ConsumerAllowance;
  /** Absent: these are the first calls. */
  readonly before?: CallsBefore | undefined;
  /** The calls that failed, in the order in which they ended. */
  readonly failed: readonly FailedCall<Target>[];
  /** Two targets may be asked side by side, where the route says so. */
  readonly canHedge: boolean;
  /** A stream was asked for. */
  readonly isStream: boolean;
  /** It may be asked with one key alone. */
  readonly isBoundToKey: boolean;
  /** The request can be sent once more. */
  readonly canSend: boolean;
  /** The client has left, or its request is broken: nothing more is asked. */
  readonly isLeft: boolean;
  /** The client's fault while targets were asked; undefined: none. */
  readonly fault: Refusal | undefined;
  /** Adds a call to those that failed. */
  noteFailed(failed: FailedCall<Target> & { readonly answer: Call['answer'] }): void;
  /** The rules that count a call of the target. */
  matchesOf(target: Target): Matches;
  /** The tokens that a call of the target sets aside under these rules; 0: none. */
  wantedAt(target: Target): number;
  /** The state of the target. */
  stateOf(target: Target): TargetState;
  /** The labels of the caller's key; absent: it has none. */
  readonly labels?: readonly string[] | undefined;
  /** The only key to ask with; undefined: the next one of the provider. */
  keyOf(target: Target): ApiKey | undefined;
  /** Sends the request. An error that it throws ends the request. */
  send(begun: BegunCall<Target>): Call;
  /** Reads an answer that takes more than a moment; undefined: nothing has to be read. Never rejects. */
  read(call: Call): Promise<void> | undefined;
  /** Why the answer cannot be used; undefined: it can. `isOver`: another target was faster. */
  refusalOf(call: Call, failure: UpstreamFailure | undefined, isOver: boolean): Refusal | undefined;
  /** The usage of a call without an answer. */
  usageOf(call: Call, failure: UpstreamFailure | undefined, isOutrun: boolean, nowMs: number): TokenUsage | undefined;
}
