// What Prometheus sees of the response cache: read from its counts at every scrape.
import { Counter, Gauge, type Registry } from '../../plane/prometheus.ts';
import type { MetricDefinition } from '../../schemas/metrics/limit-metrics.ts';
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import { cacheOutcomes, type ResponseCache } from '../cache/response-cache.ts';
import { semanticOutcomes } from '../cache/semantic-layer.ts';

export type ObservedCache = Pick<ResponseCache, 'counts' | 'flights' | 'saved' | 'semantic' | 'status'>;

/** Registers the metrics. */
export function observeCache(registers: Registry[], cache: ObservedCache): void {
  const counter = (definition: MetricDefinition, read: () => number): void => {
    new Counter({
      ...definition,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  };
  const gauge = (definition: MetricDefinition, read: () => number): void => {
    new Gauge({
      ...definition,
      registers,
      collect() {
        this.set(read());
      },
    });
  };
  new Counter({
    ...proxyMetrics.cacheRequests,
    registers,
    collect() {
      this.reset();
      for (const [endpoint, counts] of cache.counts) {
        for (const outcome of cacheOutcomes) this.inc({ endpoint, outcome }, counts[outcome]);
      }
    },
  });
  new Counter({
    ...proxyMetrics.cacheSemantic,
    registers,
    collect() {
      this.reset();
      for (const outcome of semanticOutcomes) this.inc({ outcome }, cache.semantic.counts[outcome]);
    },
  });
  gauge(proxyMetrics.cacheSemanticEntries, () => cache.semantic.status().entries);
  counter(proxyMetrics.cacheSemanticDropped, () => cache.semantic.status().dropped);
  gauge(proxyMetrics.cacheBytes, () => cache.status().bytes);
  gauge(proxyMetrics.cacheEntries, () => cache.status().entries);
  gauge(proxyMetrics.cacheWaiting, () => cache.flights.waiting);
  counter(proxyMetrics.cacheEvictions, () => cache.status().evicted);
  counter(proxyMetrics.cacheDropped, () => cache.status().dropped);
  counter(proxyMetrics.cacheSavedTokens, () => cache.saved.tokens);
  counter(proxyMetrics.cacheSavedCost, () => cache.saved.nanoDollars / 1e9);
}
