// Updates the state of a target when a call has ended: its breaker, its rest, its speed, its limits.
import type { RetryReason } from '../../snapshot/retry-policy.ts';
import type { Upstream } from '../../snapshot/snapshot.ts';
import { type CallRole, isProbe } from '../../targets/breaker.ts';
import type { RememberedKey } from '../../targets/learned-quotas.ts';
import { unsaidRestMs } from '../../targets/rest-times.ts';
import type { RestCause, TargetState } from '../../targets/target-state.ts';
import type { UpstreamFailure } from '../../upstream/failure.ts';
import { askedWaitMs } from '../../upstream/retry-headers.ts';
import type { UpstreamAnswer } from '../../upstream/upstream-answer.ts';

/**
 * How long a target rests that does not say so itself, in milliseconds: one that has too much to do, one that refuses our key, and one that no
 * longer has the model; the last two will do so again for a while.
 */
const restsMs: Partial<Record<RetryReason, number>> = {
  rate_limit: unsaidRestMs,
  unauthorized: 10_000,
  model_unavailable: 10_000,
};

/** A call of a target. */
interface Called {
  readonly target: { readonly upstream: Pick<Upstream, 'hasBreaker' | 'learnsLimits'> };
  readonly state: TargetState;
  /** The role of the call for the breaker. */
  readonly role: CallRole;
  readonly answer: Pick<UpstreamAnswer, 'head' | 'status' | 'stream'>;
  readonly key: { readonly state: RememberedKey };
}

export interface TimedCall extends Called {
  /** Milliseconds of the gateway's clock. */
  readonly startedAtMs: number;
  /** The client's body came while it was sent: how long it took says nothing of the target. */
  readonly isPaced?: boolean;
}

/** The failure of a call. */
interface Failed {
  /** Undefined where it must not be tried again. */
  readonly kind: RetryReason | undefined;
  readonly failure: UpstreamFailure | undefined;
  /** It was about the key, and another one can be used at once: the target need not rest. */
  readonly hasOtherKey: boolean;
  /** That of the answer, or of the error within it; 0: none came. */
  readonly status: number;
  /** Why the target rests, if it does; absent: it asked to be left alone. */
  readonly cause?: RestCause;
}

/** An answer can be relayed, or is measured although its client has gone. */
export function noteSuccess(called: TimedCall, nowMs: number, gone: boolean): void {
  const { state, startedAtMs, answer, role, isPaced = false } = called;
  learnQuota(called, nowMs);
  if (gone) state.breaker.released(role);
  else {
    state.outrunsInARow = 0;
    state.served();
    state.calls.add(false, nowMs);
    state.breaker.succeeded(nowMs, role);
    if (!isPaced) state.latency.observe(nowMs - startedAtMs, nowMs, answer.stream);
  }
}

/** The number of outrun calls in a row that count as failures: the target may never answer. */
const mostOutruns = 5;

/** A call was cancelled, because another target was faster: it would have taken longer than until now. */
export function noteOutrun(
  called: Pick<TimedCall, 'target' | 'state' | 'role' | 'startedAtMs'>,
  nowMs: number,
  isStream: boolean,
): void {
  const { state, role, startedAtMs } = called;
  state.outrunsInARow += 1;
  // A probe that was outrun has not shown that the target works.
  if (isProbe(role) || state.outrunsInARow >= mostOutruns) noteBreak(called, nowMs);
  // Without this, a slow target would seem as fast as those that outrun it.
  state.latency.observeOutrun(nowMs - startedAtMs, nowMs, isStream);
}

/** A call has failed, and not because its client left. */
export function noteFailure(
  called: Called,
  { kind, failure, hasOtherKey, status, cause }: Failed,
  nowMs: number,
): void {
  const { state, answer, role } = called;
  const { breaker } = state;
  learnQuota(called, nowMs);
  state.calls.add(failure !== undefined || status >= 500 || kind !== undefined, nowMs);
  if (failure?.isStale === true) breaker.released(role);
  else if (failure !== undefined || status >= 500 || kind === 'invalid_answer') noteBreak(called, nowMs);
  // A provider that refuses a request is there.
  else if (kind === undefined) breaker.succeeded(nowMs, role);
  else breaker.released(role);
  if (hasOtherKey || !called.target.upstream.learnsLimits) return;
  const saidMs = status < 400 ? undefined : askedWaitMs(answer.head, nowMs);
  // None at all, or a moment that has passed, is no reason to ask again at once.
  const restMs = saidMs || (kind === undefined ? undefined : restsMs[kind]);
  if (restMs !== undefined) state.rest(nowMs + restMs, nowMs, cause);
}

/** The target itself has failed, before its answer began or in the middle of it. */
export function noteBreak({ target, state, role }: Pick<Called, 'target' | 'state' | 'role'>, nowMs: number): void {
  if (target.upstream.hasBreaker) state.breaker.failed(nowMs, role);
}

function learnQuota({ target, state, answer, key }: Called, nowMs: number): void {
  if (target.upstream.learnsLimits) state.quota.learn(answer.head, nowMs, key.state);
}
