// Stage 7: tries the targets in order until one gives an answer that can be relayed.
import { type Refusal, refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { Operation } from '../providers/dialect.ts';
import type { Call } from '../request/call.ts';
import type { Exchange } from '../request/exchange.ts';
import type { Target, Upstream } from '../snapshot/snapshot.ts';
import { failureRefusal, rejectionOf } from '../upstream/rejection.ts';
import { type Answer, type Outgoing, send, UpstreamFailure } from '../upstream/send.ts';

/** A usable answer and where it came from. */
export interface Accepted {
  readonly answer: Answer;
  readonly target: Target;
  /** The stream's usage event exists only because the gateway asked for it. */
  readonly injectedUsage: boolean;
}

/** What the attempt stage needs of the gateway. */
type Means = Pick<Gateway, 'pools' | 'deadlines' | 'usageEnabled'>;

/**
 * Sends the call to one target after the other. The next one is tried only when it is safe: the request was never sent, or
 * the provider refused it (429 or 5xx). Throws the last target's Refusal.
 */
export async function attempt(
  targets: readonly Target[],
  operation: Operation,
  call: Call,
  exchange: Exchange,
  means: Means,
): Promise<Accepted> {
  let last: Refusal | undefined;
  for (const target of targets) {
    if (exchange.gone) throw refusal('client_left');
    const { upstream } = target;
    const { path, body, injectedUsage } = upstream.dialect.request(operation, call, target, means.usageEnabled);
    const headers = [...upstream.headers, 'x-request-id', exchange.id];
    let again: boolean;
    try {
      const answer = await start(upstream, { path: upstream.basePath + path, headers, body }, exchange, means);
      last = rejectionOf(answer, upstream);
      if (last === undefined) return { answer, target, injectedUsage };
      answer.cancel();
      again = answer.status === 429 || answer.status >= 500;
    } catch (error) {
      if (!(error instanceof UpstreamFailure)) throw error;
      last = failureRefusal(error, upstream.name);
      again = !error.sent;
    }
    if (!again) break;
  }
  throw last as Refusal;
}

/** Sends to one upstream; the client's leaving cancels it. */
function start(
  upstream: Upstream,
  outgoing: Outgoing,
  exchange: Exchange,
  { pools, deadlines }: Means,
): Promise<Answer> {
  return send(pools.get(upstream), outgoing, upstream.patience, deadlines, (answer) => {
    exchange.onGone = () => answer.cancel();
  });
}
