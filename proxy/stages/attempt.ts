// Stage 7: tries the targets in order until one gives an answer that can be relayed.
import type { Answer } from '../answer.ts';
import type { Call } from '../call/call.ts';
import type { Exchange } from '../connection/exchange.ts';
import type { Operation } from '../dialects/dialect.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { Lease } from '../limits/lease.ts';
import { rejectTargets } from '../limits/rejection.ts';
import { failureRefusal, rejectionOf } from '../providers/provider-error.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import type { UpstreamFailure } from '../upstream/failure.ts';
import { send } from '../upstream/send.ts';
import type { UpstreamAnswer } from '../upstream/upstream-answer.ts';
import { type Allowance, limitRefusal, targetRules } from './admit.ts';

/** A call, where it may go, and what its consumer was allowed. */
export interface RoutedCall {
  readonly operation: Operation;
  readonly call: Call;
  readonly route: Route;
  readonly consumer: Allowance;
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
  readonly refused: undefined;
  readonly answer: Answer;
  /** What the request holds under the rules of its provider and model. */
  readonly allowance: Allowance;
  /** The stream's usage event exists only because the gateway asked for it. */
  readonly injectedUsage: boolean;
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

/**
 * Sends the call to one target of the route after the other. One whose provider or model rules are used up is skipped; after a
 * failure the next is tried only when it is safe: the request was never sent, or the provider refused it (429 or 5xx). Throws the
 * last target's Refusal, or 429 when all are used up (see `saturated`); then no call was made, and the consumer gets back what it
 * paid. When the client leaves while the provider works, the unfinished answer is returned, because it has cost something. Targets that
 * failed are added to `failed`; their slots are given back.
 */
export async function attempt(
  routed: RoutedCall,
  failed: FailedAttempt[],
  exchange: Exchange,
  parts: Parts,
): Promise<Accepted> {
  const { limiter, nowMs } = parts;
  const { route, consumer } = routed;
  const rejectedAs = route.targets.length === 1 ? 'reject' : 'skip_target';
  let called = false;
  let held: Lease | undefined;
  // One moment for all that are asked without a pause: what was used up a moment ago must still be so in the answer.
  let now = Math.floor(nowMs());
  try {
    let last: Refusal | undefined;
    for (const target of parts.balance(route)) {
      if (exchange.gone) throw refusal('client_left');
      const matches = limiter.forTarget(target.upstream.name, target.model);
      const { lease } = limiter.admit(matches, now, rejectedAs);
      if (lease === undefined) continue;
      called = true;
      held = lease;
      const { answer, injectedUsage } = ask(target, routed, exchange, parts);
      const failure = await answer.ready;
      const endedAtMs = nowMs();
      const refused = refusalOf({ answer, failure, injectedUsage }, target, exchange, nowMs);
      if (refused === undefined) {
        held = undefined;
        const allowance = { lease, matches };
        return { target, startedAtMs: now, endedAtMs, refused, answer, allowance, injectedUsage };
      }
      answer.cancel();
      // A provider that was never reached has executed nothing.
      if (failure?.sent === false) lease.refund(Math.floor(endedAtMs));
      else lease.release();
      const isRetryable = failure === undefined ? answer.status === 429 || answer.status >= 500 : !failure.sent;
      failed.push({ target, startedAtMs: now, endedAtMs, refused, answer, isRetryable });
      last = refused;
      if (!isRetryable) break;
      now = Math.floor(nowMs());
    }
    throw last ?? saturated(routed, parts, now);
  } finally {
    held?.release();
    if (!called) consumer.lease.refund(Math.floor(nowMs()));
  }
}

/** Sends the call to one target. */
function ask(
  target: Target,
  { operation, call }: RoutedCall,
  exchange: Exchange,
  { pools, deadlines, usageEnabled }: Parts,
): Pick<Asked, 'answer' | 'injectedUsage'> {
  const { upstream } = target;
  const { path, body, injectedUsage } = upstream.dialect.request(operation, call, target, usageEnabled);
  const headers = [...upstream.headers, 'x-request-id', exchange.id];
  const outgoing = { path: upstream.basePath + path, headers, body };
  const answer = send(pools.get(upstream), outgoing, upstream.patience, deadlines);
  exchange.waiting = answer;
  return { answer, injectedUsage };
}

/** What came of asking a target. */
interface Asked {
  readonly answer: UpstreamAnswer;
  readonly failure: UpstreamFailure | undefined;
  readonly injectedUsage: boolean;
}

/** Why an answer cannot be relayed; undefined when it can. */
function refusalOf(
  { answer, failure, injectedUsage }: Asked,
  { upstream }: Target,
  { gone }: Exchange,
  nowMs: () => number,
): Refusal | undefined {
  // Of an answer that was under way when the client left, what has come is measured.
  if (failure !== undefined && !(gone && failure.sent)) return failureRefusal(failure, upstream.name);
  if (gone && answer.status < 400) return undefined;
  return rejectionOf(answer, upstream, nowMs) ?? (injectedUsage ? unreadable(answer, upstream.name) : undefined);
}

/** A stream that cannot be decoded would hide the usage event that the client must not see. */
function unreadable({ stream, contentEncoding }: Answer, provider: string): Refusal | undefined {
  if (!stream || contentEncoding === undefined) return undefined;
  const reason = `it is encoded as ${contentEncoding}, although plain bytes were asked for`;
  return refusal('upstream_invalid_response', { provider, fill: { reason } });
}

/**
 * Every target is used up: the wait is the first second at which a retry would be admitted by the consumer's rules and by all rules
 * of some target; the answer speaks of the rule that decides it. The consumer gets back what it paid first, else its own request
 * would stand in its way.
 */
function saturated({ route, consumer }: RoutedCall, { limiter, metrics }: Parts, nowMs: number): Refusal {
  consumer.lease.refund(nowMs);
  return limitRefusal(rejectTargets(targetRules(route, limiter), consumer.matches, nowMs), metrics);
}
