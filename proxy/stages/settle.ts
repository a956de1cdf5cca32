// Stage 9: closes the books of an exchange, exactly once.
import type { Exchange } from '../connection/exchange.ts';
import type { Gateway } from '../gateway.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import type { Allowance } from './admit.ts';

/** How an exchange ended. */
export interface Outcome {
  /** Status the client got; that of the error when the answer broke off; 499 when the client left before. */
  readonly status: number;
  /** Provider that answered, if any did. */
  readonly provider: string;
  /** What the answer cost; undefined when there was none, or tokens are not counted. */
  readonly usage?: TokenUsage | undefined;
}

/** Gives the slots back, charges the tokens to every rule the request was admitted under, and counts how it ended. */
export function settle(
  endpoint: string,
  { status, provider, usage }: Outcome,
  allowances: readonly (Allowance | undefined)[],
  exchange: Exchange,
  { metrics, limiter, nowMs }: Pick<Gateway, 'metrics' | 'limiter' | 'nowMs'>,
): void {
  exchange.onGone = undefined;
  exchange.onBroken = undefined;
  const now = nowMs();
  // Whatever fails behind this, no slot stays taken.
  for (const allowance of allowances) allowance?.lease.release();
  metrics.request(endpoint, provider, exchange.gone ? 499 : status, (now - exchange.startedAtMs) / 1000);
  if (usage === undefined) return;
  for (const allowance of allowances) {
    if (allowance === undefined) continue;
    limiter.charge(allowance.matches, usage.totalTokens, Math.floor(now), allowance.lease);
  }
  metrics.tokens(usage.source, usage.totalTokens);
}
