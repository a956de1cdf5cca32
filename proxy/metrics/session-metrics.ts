// What Prometheus sees of sessions over WebSocket: read from their counts at every scrape.
import { Counter, Gauge, type Registry } from '../../plane/prometheus.ts';
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import type { SessionCounts } from '../tallies/session-counts.ts';

/** Registers the two metrics of sessions. */
export function observeSessions(registers: Registry[], counts: () => SessionCounts): void {
  new Gauge({
    ...proxyMetrics.sessionsOpen,
    registers,
    collect() {
      this.set(counts().open);
    },
  });
  new Counter({
    ...proxyMetrics.sessionsEnded,
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(counts().ended)) this.inc({ reason }, count);
    },
  });
}
