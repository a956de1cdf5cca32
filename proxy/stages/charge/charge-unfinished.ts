// Charges a call without an answer whose provider was at work on it: it was outrun, took too long, or broke off.
import type { Limiter } from '../../limits/limiter.ts';
import type { Allowance } from '../../routing/limit-refusal.ts';
import type { Target } from '../../snapshot/snapshot.ts';
import type { UpstreamTally } from '../../tallies/upstream-tally.ts';
import { findUsage } from '../../tokens/find-usage.ts';
import { measureBody } from '../../tokens/measure.ts';
import { ofBrokenAnswer, type TokenUsage } from '../../tokens/token-usage.ts';
import type { UpstreamFailure } from '../../upstream/failure.ts';
import type { UpstreamAnswer } from '../../upstream/upstream-answer.ts';
import type { RoutedCall } from '../attempts.ts';

/** A call that has failed. */
export interface Unfinished {
  readonly asking: { readonly target: Target; readonly allowance: Allowance; readonly answer: UpstreamAnswer };
  readonly routed: Pick<RoutedCall, 'operation' | 'call'>;
  /** Undefined: its answer came, and cannot be used. */
  readonly failure: UpstreamFailure | undefined;
  /** Another target, asked beside it, was faster. */
  readonly isOutrun: boolean;
}

/** The parts that charging needs. */
export interface ChargeParts {
  readonly limiter: Limiter;
  readonly metrics: {
    /** Counts tokens, and whether they were reported or estimated. */
    tokens(source: TokenUsage['source'], count: number): void;
    readonly upstream: UpstreamTally;
  };
  readonly usageEnabled: boolean;
}

const nothing: Buffer = Buffer.alloc(0);

/**
 * Undefined: it has cost nothing as far as is known, or tokens are not counted. Rules are charged for answers that were relayed; those of the
 * provider and model for what was outrun, too, because another answer was relayed for it.
 */
export function chargeUnfinished(
  { asking, routed, failure, isOutrun }: Unfinished,
  { limiter, metrics, usageEnabled }: ChargeParts,
  nowMs: number,
): TokenUsage | undefined {
  const { target, allowance, answer } = asking;
  if (!usageEnabled) return undefined;
  // What a provider says that a useless answer has cost, such as one that it filtered.
  if (failure === undefined) return answer.complete && answer.status < 300 ? findUsage(answer.body()) : undefined;
  if (!failure.sent || !(isOutrun || wasAtWork(answer, failure))) return undefined;
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
function wasAtWork({ status }: UpstreamAnswer, { failure }: UpstreamFailure): boolean {
  return status === 0 ? failure.code === 'upstream_timeout' : status < 300;
}
