// What Prometheus sees of providers that are asked for their models.
import { Counter, Gauge, type Registry } from '../../plane/prometheus.ts';
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import type { Discovery } from '../discovery/discovery.ts';

export function observeDiscovery(registers: Registry[], discovery: Pick<Discovery, 'known'>): void {
  new Gauge({
    ...proxyMetrics.discoveryModels,
    registers,
    collect() {
      this.reset();
      for (const { provider, count } of discovery.known()) this.set({ provider }, count);
    },
  });
  new Gauge({
    ...proxyMetrics.discoveryLastSuccess,
    registers,
    collect() {
      this.reset();
      for (const { provider, atMs = 0 } of discovery.known()) this.set({ provider }, atMs / 1000);
    },
  });
  new Counter({
    ...proxyMetrics.discoveryFailures,
    registers,
    collect() {
      this.reset();
      for (const { provider, failures } of discovery.known()) this.inc({ provider }, failures);
    },
  });
}
