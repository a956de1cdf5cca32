// What Prometheus sees of the control plane; the only file here that knows the metrics package.
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

export interface Metrics {
  readonly contentType: string;
  /** The exposition text of all metrics. */
  text(): Promise<string>;
}

/** A registry of its own (nothing global) with the process metrics and `gateway_build_info`. */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'gateway_build_info',
    help: 'Always 1; the labels say which plane and version is running, on which Node.',
    labelNames: ['plane', 'version', 'node'],
    registers: [registry],
  }).set({ plane: 'control-plane', version, node: process.versions.node }, 1);
  return { contentType: registry.contentType, text: () => registry.metrics() };
}
