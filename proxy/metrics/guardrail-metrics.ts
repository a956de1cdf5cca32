// What Prometheus sees of guardrails.
import { Counter, type Registry } from '../../plane/prometheus.ts';
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import type { GuardrailTally } from '../guardrails/tally.ts';

/** Registers the metric. */
export function observeGuardrails(registers: Registry[], tally: Pick<GuardrailTally, 'counts'>): void {
  new Counter({
    ...proxyMetrics.guardrailVerdicts,
    registers,
    collect() {
      this.reset();
      for (const { count, ...labels } of tally.counts) this.inc(labels, count);
    },
  });
}
