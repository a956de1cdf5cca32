// Updates the state of a target when a call has ended: its breaker, its rest, its speed, its limits.
import { type Diagnosis, type FailureKind, isOfRequest } from '../../../domain/targets/failure-kind.ts';
import type { Upstream } from '../../snapshot/snapshot.ts';
import { type CallRole, isProbe } from '../../targets/breaker.ts';
import type { RememberedKey } from '../../targets/learned-quotas.ts';
import { unsaidRestMs } from '../../targets/rest-times.ts';
import type { TargetState } from '../../targets/target-state.ts';
import type { UpstreamFailure } from '../../upstream/failure.ts';
import { askedWaitMs } from '../../upstream/retry-headers.ts';
import type { UpstreamAnswer } from '../../upstream/upstream-answer.ts';

/** How long a target rests that refuses our key, whose account is used up, or that has no such model: it will do so again for a while. Milliseconds. */
const troubleRestMs = 10_000;
/** And one that will soon do better, where it does not say when. */
const restsMs: Partial<Record<FailureKind, number>> = { rate_limit: unsaidRestMs };

/** A call of a target. */
interface Called {
  readonly target: { readonly upstream: Pick<Upstream, 'clientAuth' | 'hasBreaker' | 'learnsLimits'> };
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
  readonly meaning: Diagnosis;
  readonly failure: UpstreamFailure | undefined;
  /** It was about the key, and another one can be used at once: the target need not rest. */
  readonly hasOtherKey: boolean;
  /** That of the answer, or of the error within it; 0: none came. */
  readonly status: number;
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
export function noteFailure(called: Called, { meaning, failure, hasOtherKey, status }: Failed, nowMs: number): void {
  const { state, answer, role } = called;
  const { breaker } = state;
  const { kind, trouble } = meaning;
  learnQuota(called, nowMs);
  const isRefusal = failure === undefined && (isOfRequest(meaning) || isOfClient(called, status));
  state.calls.add(!isRefusal, nowMs);
  if (failure?.isStale === true) breaker.released(role);
  // A provider that refuses a request is there.
  else if (isRefusal) breaker.succeeded(nowMs, role);
  else if (failure !== undefined || status >= 500 || kind === 'invalid_answer') noteBreak(called, nowMs);
  else breaker.released(role);
  if (hasOtherKey || isTooMuchToAsk(meaning) || !called.target.upstream.learnsLimits) return;
  const saidMs = status < 400 ? undefined : (askedWaitMs(answer.head, nowMs) ?? meaning.waitMs);
  // None at all, or a moment that has passed, is no reason to ask again at once.
  const restMs = saidMs || (trouble !== undefined ? troubleRestMs : kind && restsMs[kind]);
  if (restMs !== undefined) state.rest(nowMs + restMs, nowMs, trouble);
}

/** Of a target that is asked with credentials of clients: what it refuses, it refuses one of them; others have limits of their own. */
function isOfClient({ target }: Called, status: number): boolean {
  return target.upstream.clientAuth === 'given' && status >= 400 && status < 500;
}

/** Others ask for less: that this request is refused is no reason to leave the target alone, whatever wait it names. */
function isTooMuchToAsk({ kind }: Diagnosis): boolean {
  return kind === 'context_length' || kind === 'content_filter';
}

/** The target itself has failed, before its answer began or in the middle of it. */
export function noteBreak({ target, state, role }: Pick<Called, 'target' | 'state' | 'role'>, nowMs: number): void {
  if (target.upstream.hasBreaker) state.breaker.failed(nowMs, role);
}

function learnQuota({ target, state, answer, key }: Called, nowMs: number): void {
  if (target.upstream.learnsLimits) state.quota.learn(answer.head, nowMs, key.state);
}
