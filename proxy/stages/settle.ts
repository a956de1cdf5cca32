// Stage 9: closes the books of an exchange, exactly once.
import type { Exchange } from '../connection/exchange.ts';
import type { Gateway } from '../gateway.ts';
import type { Allowance } from './admit.ts';
import type { Outcome } from './relay.ts';

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
