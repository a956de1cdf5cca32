// One call of one target, from sending it to what has come of it: an answer that can be relayed, or a failure of some kind.
import { failedOutcome } from '../attempt-outcome.ts';
import { addForwarded } from '../call/forwarded-headers.ts';
import type { Exchange } from '../connection/exchange.ts';
import type { Refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { failureRefusal, invalid, rejectionOf } from '../providers/provider-error.ts';
import { passableId } from '../providers/upstream-id.ts';
import { failureKind } from '../retry/failure-kind.ts';
import { noteFailure, noteOutrun, noteSuccess } from '../retry/learn.ts';
import type { RetryReason } from '../snapshot/retry-policy.ts';
import type { Target, Upstream } from '../snapshot/snapshot.ts';
import type { CallRole } from '../targets/breaker.ts';
import type { TargetState } from '../targets/target-state.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import type { UpstreamFailure } from '../upstream/failure.ts';
import { send } from '../upstream/send.ts';
import type { UpstreamAnswer } from '../upstream/upstream-answer.ts';
import type { Allowance } from './admit.ts';
import type { Accepted, RoutedCall } from './attempts.ts';

/** How a call is made. */
export interface Way {
  /** Milliseconds of the gateway's clock. */
  readonly startedAtMs: number;
  /** When the answer must be complete, by the same clock. */
  readonly latestMs: number;
  /** On a new connection, because a kept one was closed. */
  readonly isFresh: boolean;
  /** Nothing else can be asked, so a stream may begin with whatever comes. */
  readonly isLast: boolean;
}

/** A target that is being asked, and what the request holds under its rules. */
export interface Asking extends Way {
  readonly target: Target;
  readonly state: TargetState;
  /** What the call is to the breaker. */
  readonly role: CallRole;
  readonly allowance: Allowance;
  readonly answer: UpstreamAnswer;
  /** The provider's key that it is asked with. */
  readonly key: ApiKey;
  /** The stream's usage event exists only because the gateway asked for it. */
  readonly injectedUsage: boolean;
}

/** Why a call gave no answer that can be relayed. */
export interface Verdict {
  readonly refused: Refusal;
  /** Undefined where the request must not be sent again. */
  readonly kind: RetryReason | undefined;
  /** The answer did not come completely; undefined: it did. */
  readonly failure: UpstreamFailure | undefined;
  /** It was about our key, and the provider has another one that can be used at once. */
  readonly hasOtherKey: boolean;
  readonly endedAtMs: number;
}

/** What is asked, for whom, by what means, and who wants to know what has come of it. */
export interface Asker {
  readonly routed: RoutedCall;
  readonly exchange: Exchange;
  readonly parts: Pick<Gateway, 'deadlines' | 'metrics' | 'nowMs' | 'pools' | 'targets' | 'usageEnabled'>;
  /** An answer was accepted, or none is needed any more: what is still asked is cancelled. */
  readonly isOver: boolean;
  /** The answer can be relayed; the allowance is still held. */
  accepted(asking: Asking, endedAtMs: number): void;
  /** It cannot; the allowance is still held. */
  failed(asking: Asking, verdict: Verdict): void;
  /** Something unexpected has happened; nothing is held. */
  broke(asking: Asking, error: unknown): void;
}

/** Sends the call to one target. The asker is told once what has come of it; when sending throws, the allowance is given back. */
export function ask(target: Target, allowance: Allowance, asker: Asker, way: Way): Asking {
  const { startedAtMs, latestMs, isFresh, isLast } = way;
  const { routed, exchange, parts } = asker;
  const state = parts.targets.of(target);
  const role = state.breaker.begin(startedAtMs);
  try {
    const { upstream } = target;
    const { dialect, credentials, forwarded, patience } = upstream;
    const asked = dialect.request(routed.operation, routed.call, target, parts.usageEnabled);
    const { path, body, injectedUsage } = asked;
    const key = credentials.pick(parts.deadlines.coarseNowMs, state.quota);
    const headers = [...key.headers, 'x-request-id', exchange.id];
    if (forwarded !== undefined) addForwarded(headers, exchange.request.rawHeaders, forwarded);
    const url = upstream.basePath + path + upstream.query;
    const { stream: isStream } = routed.call;
    const outgoing = { path: url, headers, body, latestMs, needsEvent: !isLast, isFresh, isStream };
    const answer = send(parts.pools.get(upstream), outgoing, patience, parts.deadlines);
    return { target, state, role, allowance, answer, key, injectedUsage, startedAtMs, latestMs, isFresh, isLast };
  } catch (error) {
    state.breaker.released(role);
    allowance.lease.release();
    throw error;
  }
}

/** What is to be relayed of one. */
export function acceptedOf(
  { target, allowance, answer, injectedUsage, startedAtMs }: Asking,
  routed: RoutedCall,
  endedAtMs: number,
): Accepted {
  const upstreamId = passableId(answer.head.requestId, target.upstream.secrets);
  const refused = undefined;
  return { routed, target, startedAtMs, endedAtMs, refused, answer, allowance, injectedUsage, upstreamId };
}

/** Something has come of asking a target: it is counted, remembered of the target, and told to the asker. */
export function judge(asking: Asking, failure: UpstreamFailure | undefined, asker: Asker): void {
  const { target, state, allowance, answer, startedAtMs } = asking;
  const { exchange, parts } = asker;
  const { metrics, nowMs } = parts;
  const endedAtMs = nowMs();
  if (failure === undefined) target.upstream.credentials.answered(asking.key, answer.status, answer.head, endedAtMs);
  let refused: Refusal | undefined;
  try {
    refused = refusalOf(asking, failure, asker);
  } catch (error) {
    metrics.upstream.ended(target, 'cancelled', 0);
    state.breaker.released(asking.role);
    answer.cancel();
    allowance.lease.release();
    asker.broke(asking, error);
    return;
  }
  const { gone } = exchange;
  const seconds = (endedAtMs - startedAtMs) / 1000;
  if (refused === undefined) {
    if (!gone) metrics.upstream.begun(target, seconds);
    noteSuccess(asking, endedAtMs, gone);
    asker.accepted(asking, endedAtMs);
    return;
  }
  const isOutrun = failure !== undefined && asker.isOver;
  const isCancelled = !isOutrun && failure !== undefined && gone;
  // What was never sent, because the connection had been closed, is no call.
  const isCall = failure?.isStale !== true || asking.isFresh;
  if (isCall) metrics.upstream.ended(target, failedOutcome(refused, isCancelled), seconds);
  answer.cancel();
  const kind = failureKind({ refused, failure, status: answer.status, stream: answer.stream });
  const isAboutKey = failure === undefined && (answer.status === 401 || answer.status === 429);
  const maySwitch = isAboutKey && answer.head.shouldRetry !== 'false';
  const hasOtherKey = maySwitch && target.upstream.credentials.hasOtherFree(asking.key, endedAtMs);
  if (isOutrun) noteOutrun(asking, endedAtMs, asker.routed.call.stream);
  else if (isCancelled) state.breaker.released(asking.role);
  else noteFailure(asking, { kind, failure, hasOtherKey }, endedAtMs);
  asker.failed(asking, { refused, kind, failure, hasOtherKey, endedAtMs });
}

/** Why an answer cannot be relayed; undefined when it can. */
function refusalOf(
  { target: { upstream }, answer, injectedUsage }: Asking,
  failure: UpstreamFailure | undefined,
  { exchange: { gone }, parts: { nowMs }, isOver }: Asker,
): Refusal | undefined {
  // Of an answer that was under way when the client left, what has come is measured.
  if (failure !== undefined && (isOver || !gone || !failure.sent))
    return failureRefusal(failure, upstream, answer.head);
  if (gone && answer.status < 400) return undefined;
  return rejectionOf(answer, upstream, nowMs) ?? (injectedUsage ? unreadable(answer, upstream) : undefined);
}

/** A stream that cannot be decoded would hide the usage event that the client must not see. */
function unreadable(answer: UpstreamAnswer, upstream: Upstream): Refusal | undefined {
  const { stream, contentEncoding } = answer;
  if (!stream || contentEncoding === undefined) return undefined;
  return invalid(answer, upstream, `it is encoded as ${contentEncoding}, although plain bytes were asked for`);
}
