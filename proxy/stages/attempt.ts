// Stage 7: tries the targets in order until one gives an answer that can be relayed.
import type { Refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { Operation } from '../providers/dialect.ts';
import type { Call } from '../request/call.ts';
import type { Exchange } from '../request/exchange.ts';
import type { Target } from '../snapshot/snapshot.ts';
import { failureRefusal, rejectionOf } from '../upstream/rejection.ts';
import { type Answer, send, UpstreamFailure } from '../upstream/send.ts';

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
    const { refused, again, accepted } = await attemptOne(target, operation, call, exchange, means);
    if (accepted) return accepted;
    last = refused;
    if (!again || exchange.gone) break;
  }
  throw last as Refusal;
}

interface Attempted {
  readonly accepted?: Accepted;
  readonly refused?: Refusal;
  readonly again?: boolean;
}

async function attemptOne(
  target: Target,
  operation: Operation,
  call: Call,
  exchange: Exchange,
  { pools, deadlines, usageEnabled }: Means,
): Promise<Attempted> {
  const { upstream } = target;
  const { path, body, injectedUsage } = upstream.dialect.request(
    operation,
    call,
    { modelJson: target.modelJson, streamUsage: upstream.streamUsage },
    usageEnabled,
  );
  const headers = [...upstream.headers, 'x-request-id', exchange.id];
  let answer: Answer;
  try {
    answer = await send(
      pools.get(upstream),
      { path: upstream.basePath + path, headers, body },
      upstream.patience,
      deadlines,
      (started) => {
        exchange.onGone = () => started.cancel();
      },
    );
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    return { refused: failureRefusal(error, upstream.name), again: !error.sent };
  }
  const refused = rejectionOf(answer, upstream);
  if (refused === undefined) return { accepted: { answer, target, injectedUsage } };
  answer.cancel();
  return { refused, again: answer.status === 429 || answer.status >= 500 };
}
