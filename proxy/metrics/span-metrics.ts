// What Prometheus sees of the spans for OpenTelemetry: read from their counts at every scrape.
import { Counter, Gauge, type Registry } from '../../plane/prometheus.ts';
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import type { SpanCounts } from '../records/spans/spans.ts';

const outcomes = ['exported', 'dropped', 'failed'] as const;

export function observeSpans(registers: Registry[], counts: () => SpanCounts): void {
  new Counter({
    ...proxyMetrics.spans,
    registers,
    collect() {
      const current = counts();
      this.reset();
      for (const outcome of outcomes) this.inc({ outcome }, current[outcome]);
    },
  });
  new Gauge({
    ...proxyMetrics.spansWaiting,
    registers,
    collect() {
      this.set(counts().waiting);
    },
  });
}
