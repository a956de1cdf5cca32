// What Prometheus sees of the clients' connections: read from their counts at every scrape.
import { Counter, Gauge, type Registry } from '../../plane/prometheus.ts';
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import type { ConnectionCounts } from '../http/connections.ts';

/** Registers the three metrics of connections. */
export function observeConnections(registers: Registry[], counts: () => ConnectionCounts): void {
  new Gauge({
    ...proxyMetrics.connectionsOpen,
    registers,
    collect() {
      this.set(counts().open);
    },
  });
  new Counter({
    ...proxyMetrics.connectionsRefused,
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(counts().refused)) this.inc({ reason }, count);
    },
  });
  new Counter({
    ...proxyMetrics.connectionsCut,
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(counts().cut)) this.inc({ reason }, count);
    },
  });
}
