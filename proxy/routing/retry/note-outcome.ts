// Counts the outcome of a call in the metrics, and updates the state of its target and its key: in one way for model calls, for
// opaque calls, and for sessions.

import type { FailureKind, TargetTrouble } from '../../../domain/targets/failure-kind.ts';
import type { Refusal } from '../../errors.ts';
import type { Upstream } from '../../snapshot/snapshot.ts';
import { failedOutcome } from '../../tallies/attempt-outcome.ts';
import type { CountedTarget, UpstreamTally } from '../../tallies/upstream-tally.ts';
import type { ApiKey } from '../../upstream/api-keys.ts';
import type { UpstreamFailure } from '../../upstream/failure.ts';
import { meaningOf } from './failure-kind.ts';
import { noteFailure, noteSuccess, type TimedCall } from './learn.ts';

/** A call that has an outcome. */
export interface EndedCall extends TimedCall {
  readonly target: CountedTarget & { readonly upstream: Upstream };
  readonly key: ApiKey;
}

/** Why a call gave no answer that can be relayed. */
export interface Refused {
  readonly refused: Refusal;
  /** The answer did not come completely; undefined: it did. */
  readonly failure: UpstreamFailure | undefined;
  /** It was broken off from our side: another target was faster, or the client has left. Undefined: it was not. */
  readonly brokenOff: 'outrun' | 'cancelled' | undefined;
  /** It was sent; false: nothing was, because a kept connection had been closed. */
  readonly isCall: boolean;
  /** It may be asked with this key alone. */
  readonly isBoundToKey: boolean;
}

/** The consequence for the request. */
export interface Consequence {
  /** Undefined where the request must not be sent again. */
  readonly kind: FailureKind | undefined;
  /** It was about our key, and the provider has another one that can be used at once. */
  readonly hasOtherKey: boolean;
  /** That of the answer, or of the error within it; 0: none came. */
  readonly status: number;
  /** The wait that its body names; undefined: none. Milliseconds. */
  readonly waitMs: number | undefined;
}

/** Kinds and troubles after which another key of the provider may do. */
const ofKey: ReadonlySet<FailureKind | TargetTrouble | undefined> = new Set([
  'rate_limit',
  'key_refused',
  'account_used_up',
] as const);

type Tally = Pick<UpstreamTally, 'begun' | 'ended'>;

/** An answer can be relayed; `gone`: the client has left. `nowMs`: of the gateway's clock. */
export function noteAnswered(call: EndedCall, nowMs: number, gone: boolean, tally: Tally): void {
  if (!gone) tally.begun(call.target, (nowMs - call.startedAtMs) / 1000);
  noteSuccess(call, nowMs, gone);
}

/** There is no answer that can be relayed. What is remembered of a target that was outrun is left to the caller. */
export function noteRefused(call: EndedCall, outcome: Refused, nowMs: number, tally: Tally): Consequence {
  const { target, state, role, key, answer, startedAtMs } = call;
  const { refused, failure, brokenOff, isCall, isBoundToKey } = outcome;
  if (isCall) tally.ended(target, failedOutcome(refused, brokenOff === 'cancelled'), (nowMs - startedAtMs) / 1000);
  const { head } = answer;
  const status = (failure === undefined ? refused.saidStatus : undefined) ?? answer.status;
  const meaning = meaningOf({ refused, failure });
  const { kind, trouble } = meaning;
  const isAboutKey = [kind, trouble].some((word) => ofKey.has(word));
  const maySwitch = isAboutKey && !isBoundToKey && head.shouldRetry !== 'false';
  const hasOtherKey = maySwitch && target.upstream.credentials.hasOtherFree(key, nowMs);
  if (brokenOff === 'cancelled') state.breaker.released(role);
  else if (brokenOff === undefined) noteFailure(call, { meaning, failure, hasOtherKey, status }, nowMs);
  return { kind, hasOtherKey, status, waitMs: meaning.waitMs };
}
