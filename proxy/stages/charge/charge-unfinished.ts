// What a call has used that gave no answer to relay, although its provider was at work on it: it was outrun, took too long, or broke off.
import type { Gateway } from '../../gateway.ts';
import { measureBody } from '../../tokens/measure.ts';
import { ofBrokenAnswer, type TokenUsage } from '../../tokens/token-usage.ts';
import type { UpstreamFailure } from '../../upstream/failure.ts';
import type { Asking } from '../ask.ts';
import type { RoutedCall } from '../attempts.ts';

/** A call that has failed. */
export interface Unfinished {
  readonly asking: Pick<Asking, 'target' | 'allowance' | 'answer'>;
  readonly routed: Pick<RoutedCall, 'operation' | 'call'>;
  /** Undefined: its answer came, and cannot be used. */
  readonly failure: UpstreamFailure | undefined;
  /** Another target, asked beside it, was faster. */
  readonly isOutrun: boolean;
}

const nothing: Buffer = Buffer.alloc(0);

/**
 * Undefined: it has cost nothing as far as is known, or tokens are not counted. Rules are charged for answers that were relayed; those of the
 * provider and model for what was outrun, too, because another answer was relayed for it.
 */
export function chargeUnfinished(
  { asking, routed, failure, isOutrun }: Unfinished,
  { limiter, metrics, usageEnabled }: Pick<Gateway, 'limiter' | 'metrics' | 'usageEnabled'>,
  nowMs: number,
): TokenUsage | undefined {
  const { target, allowance, answer } = asking;
  if (!usageEnabled || failure?.sent !== true || !(isOutrun || wasAtWork(answer, failure))) return undefined;
  // Of a stream hardly more than its head is there.
  const measured = measureBody(routed, answer.stream ? nothing : answer.body());
  if (measured === undefined) return undefined;
  const usage = ofBrokenAnswer(measured);
  if (!isOutrun) return usage;
  const { inputTokens, outputTokens, totalTokens } = usage;
  limiter.charge(allowance.matches, totalTokens, nowMs, allowance.lease);
  metrics.tokens(usage.source, totalTokens);
  metrics.upstream.charged(target, inputTokens, outputTokens);
  return usage;
}

/** An answer had begun that was no error, or was still being made when time was up. */
function wasAtWork({ status }: Asking['answer'], { failure }: UpstreamFailure): boolean {
  return status === 0 ? failure.code === 'upstream_timeout' : status < 300;
}
