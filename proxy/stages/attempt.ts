// Stage 7: tries the targets in order until one gives an answer that can be relayed.
import type { Answer } from '../answer.ts';
import type { Call } from '../call/call.ts';
import type { Exchange } from '../connection/exchange.ts';
import type { Operation } from '../dialects/dialect.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { rejectTargets } from '../limits/rejection.ts';
import { failureRefusal, rejectionOf } from '../providers/provider-error.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import { UpstreamFailure } from '../upstream/failure.ts';
import { send } from '../upstream/send.ts';
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

/** A target about to be asked, with what the request holds under its rules. */
interface Admitted {
  readonly target: Target;
  readonly allowance: Allowance;
  readonly startedAtMs: number;
}

type Parts = Pick<Gateway, 'balance' | 'limiter' | 'metrics' | 'pools' | 'deadlines' | 'usageEnabled' | 'nowMs'>;

/**
 * Sends the call to one target of the route after the other. One whose provider or model rules are used up is skipped; after a
 * failure the next is tried only when it is safe: the request was never sent, or the provider refused it (429 or 5xx). Throws the
 * last target's Refusal, or 429 when all are used up (see `saturated`); then no call was made, and the consumer gets back what it
 * paid. When the client leaves while the provider works, the unfinished answer is returned, because it has cost something. Targets that
 * failed are added to `failed`.
 */
export async function attempt(
  routed: RoutedCall,
  failed: FailedAttempt[],
  exchange: Exchange,
  parts: Parts,
): Promise<Accepted> {
  const { limiter, nowMs } = parts;
  const { route, consumer } = routed;
  const isDirect = route.targets.length === 1;
  let called = false;
  // One moment for all that are asked without a pause: what was used up a moment ago must still be so in the answer.
  let now = Math.floor(nowMs());
  try {
    let last: Refusal | undefined;
    for (const target of parts.balance(route)) {
      if (exchange.gone) throw refusal('client_left');
      const matches = limiter.forTarget(target.upstream.name, target.model);
      const { lease } = limiter.admit(matches, now, isDirect ? 'reject' : 'skip_target');
      if (lease === undefined) continue;
      called = true;
      const asked = await ask({ target, allowance: { lease, matches }, startedAtMs: now }, routed, exchange, parts);
      if (asked.refused === undefined) return asked;
      failed.push(asked);
      last = asked.refused;
      if (!asked.isRetryable) break;
      now = Math.floor(nowMs());
    }
    throw last ?? saturated(routed, parts, now);
  } finally {
    if (!called) consumer.lease.refund(Math.floor(nowMs()));
  }
}

/** Asks one target. Its slots are given back unless its answer is accepted. */
async function ask(
  { target, allowance, startedAtMs }: Admitted,
  { operation, call }: RoutedCall,
  exchange: Exchange,
  parts: Parts,
): Promise<Accepted | FailedAttempt> {
  const { upstream } = target;
  let isAccepted = false;
  let answer: Answer | undefined;
  try {
    const { path, body, injectedUsage } = upstream.dialect.request(operation, call, target, parts.usageEnabled);
    const headers = [...upstream.headers, 'x-request-id', exchange.id];
    const outgoing = { path: upstream.basePath + path, headers, body };
    const sent = send(parts.pools.get(upstream), outgoing, upstream.patience, parts.deadlines);
    answer = sent;
    exchange.onGone = () => sent.cancel();
    try {
      await sent.ready;
    } catch (error) {
      // Of an answer that was under way when the client left, what has come is measured.
      if (!(exchange.gone && error instanceof UpstreamFailure && error.sent)) throw error;
    }
    const endedAtMs = parts.nowMs();
    const isAbandoned = exchange.gone && sent.status < 400;
    const refused = isAbandoned
      ? undefined
      : (rejectionOf(sent, upstream, parts.nowMs) ?? (injectedUsage ? unreadable(sent, upstream.name) : undefined));
    if (refused !== undefined) {
      sent.cancel();
      const isRetryable = sent.status === 429 || sent.status >= 500;
      return { target, startedAtMs, endedAtMs, refused, answer, isRetryable };
    }
    isAccepted = true;
    return { target, startedAtMs, endedAtMs, refused, answer, allowance, injectedUsage };
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    const endedAtMs = parts.nowMs();
    // A provider that was never reached has executed nothing.
    if (!error.sent) allowance.lease.refund(Math.floor(endedAtMs));
    const refused = failureRefusal(error, upstream.name);
    return { target, startedAtMs, endedAtMs, refused, answer, isRetryable: !error.sent };
  } finally {
    if (!isAccepted) allowance.lease.release();
  }
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
