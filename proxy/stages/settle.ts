// Stage 9: closes the books of an exchange, exactly once.
import type { Gateway } from '../gateway.ts';
import type { Exchange } from '../request/exchange.ts';
import type { Outcome } from './relay.ts';

/** Counts the request by how it ended. */
export function settle(
  endpoint: string,
  { status, provider }: Outcome,
  exchange: Exchange,
  { metrics, nowMs }: Pick<Gateway, 'metrics' | 'nowMs'>,
): void {
  exchange.onGone = undefined;
  exchange.onBroken = undefined;
  metrics.request(endpoint, provider, exchange.gone ? 499 : status, (nowMs() - exchange.startedAtMs) / 1000);
}
