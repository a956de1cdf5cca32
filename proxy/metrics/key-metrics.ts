// The metric of the API keys of providers: which of them rest.
import { Gauge, type Registry } from '../../plane/prometheus.ts';
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';

/** Keys are named by their place in the configuration. A provider with a single key has nothing to rotate, and is not shown. */
export function observeKeys(registers: Registry[], upstreams: () => Snapshot['upstreams'], nowMs: () => number): void {
  new Gauge({
    ...proxyMetrics.providerKeyResting,
    registers,
    collect() {
      this.reset();
      for (const { name: provider, credentials } of upstreams()) {
        if (credentials.count === 1) continue;
        for (const { position, isResting } of credentials.rests(nowMs()))
          this.set({ provider, key: String(position) }, isResting ? 1 : 0);
      }
    },
  });
}
