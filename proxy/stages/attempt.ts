// Stage 7: tries the targets in order until one gives an answer that can be relayed.
import type { Answer } from '../answer.ts';
import type { Call } from '../call/call.ts';
import type { Exchange } from '../connection/exchange.ts';
import type { Operation } from '../dialects/dialect.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { refuseTargets } from '../limits/rejection.ts';
import { failureRefusal, rejectionOf } from '../providers/provider-error.ts';
import type { Route, Target } from '../snapshot/snapshot.ts';
import { UpstreamFailure } from '../upstream/failure.ts';
import { send } from '../upstream/send.ts';
import { type Allowance, limitRefusal, targetRules } from './admit.ts';

/** An answer, to what, and where it came from. */
export interface Accepted {
  readonly answer: Answer;
  readonly operation: Operation;
  readonly call: Call;
  readonly target: Target;
  /** What the request holds under the rules of its provider and model. */
  readonly allowance: Allowance;
  /** The stream's usage event exists only because the gateway asked for it. */
  readonly injectedUsage: boolean;
}

/** What came of asking one target: an answer to relay, or a refusal and whether another target may be asked. */
type Attempted =
  | { accepted: Accepted; refused?: undefined }
  | { accepted?: undefined; refused: Refusal; again: boolean };

/** What the attempt stage needs of the gateway. */
type Means = Pick<Gateway, 'balance' | 'limiter' | 'metrics' | 'pools' | 'deadlines' | 'usageEnabled' | 'nowMs'>;

/**
 * Sends the call to one target of the route after the other. One whose provider or model rules are used up is skipped; after a
 * failure the next is tried only when it is safe: the request was never sent, or the provider refused it (429 or 5xx). Throws the
 * last target's Refusal, or 429 when all are used up (see `saturated`); then no call was made, and `consumer` gets back what it
 * paid. When the client leaves while the provider works, the unfinished answer is returned, because it has cost something.
 */
export async function attempt(
  route: Route,
  operation: Operation,
  call: Call,
  consumer: Allowance,
  exchange: Exchange,
  means: Means,
): Promise<Accepted> {
  const { limiter, nowMs } = means;
  const isDirect = route.targets.length === 1;
  let called = false;
  // One moment for all that are asked without a pause: what was used up a moment ago must still be so in the answer.
  let now = Math.floor(nowMs());
  try {
    let last: Refusal | undefined;
    for (const target of means.balance(route)) {
      if (exchange.gone) throw refusal('client_left');
      const matches = limiter.forTarget(target.upstream.name, target.model);
      const { lease } = limiter.admit(matches, now, isDirect ? 'reject' : 'skip_target');
      if (lease === undefined) continue;
      called = true;
      const attempted = await ask(target, operation, call, { lease, matches }, exchange, means);
      if (attempted.accepted) return attempted.accepted;
      last = attempted.refused;
      if (!attempted.again) break;
      now = Math.floor(nowMs());
    }
    throw last ?? saturated(route, consumer, means, now);
  } finally {
    if (!called) consumer.lease.refund(Math.floor(nowMs()));
  }
}

/** Asks one target. Its slots are given back unless its answer is accepted. */
async function ask(
  target: Target,
  operation: Operation,
  call: Call,
  allowance: Allowance,
  exchange: Exchange,
  means: Means,
): Promise<Attempted> {
  const { upstream } = target;
  let accepted: Accepted | undefined;
  try {
    const { path, body, injectedUsage } = upstream.dialect.request(operation, call, target, means.usageEnabled);
    const headers = [...upstream.headers, 'x-request-id', exchange.id];
    const outgoing = { path: upstream.basePath + path, headers, body };
    const answer = send(means.pools.get(upstream), outgoing, upstream.patience, means.deadlines);
    exchange.onGone = () => answer.cancel();
    try {
      await answer.ready;
    } catch (error) {
      // Of an answer that was under way when the client left, what has come is measured.
      if (!(exchange.gone && error instanceof UpstreamFailure && error.sent)) throw error;
    }
    const isAbandoned = exchange.gone && answer.status < 400;
    const refused = isAbandoned
      ? undefined
      : (rejectionOf(answer, upstream, means.nowMs) ?? (injectedUsage ? unreadable(answer, upstream.name) : undefined));
    if (refused !== undefined) {
      answer.cancel();
      return { refused, again: answer.status === 429 || answer.status >= 500 };
    }
    accepted = { answer, operation, call, target, allowance, injectedUsage };
    return { accepted };
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    // A provider that was never reached has executed nothing.
    if (!error.sent) allowance.lease.refund(Math.floor(means.nowMs()));
    return { refused: failureRefusal(error, upstream.name), again: !error.sent };
  } finally {
    if (accepted === undefined) allowance.lease.release();
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
function saturated(route: Route, consumer: Allowance, { limiter, metrics }: Means, nowMs: number): Refusal {
  consumer.lease.refund(nowMs);
  return limitRefusal(refuseTargets(targetRules(route, limiter), consumer.matches, nowMs), metrics);
}
