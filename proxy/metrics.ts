// Every metric of the data plane: names, labels and help in one place. Labels never hold an unbounded value.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly contentType: string;
  /** The exposition text of all metrics. */
  text(): Promise<string>;
  /** A request ended. `provider` is empty when none was asked; 499 stands for a client that left. */
  request(endpoint: string, provider: string, status: number, seconds: number): void;
  /** A reload of the config was tried. Failures keep the config in force. */
  reload(result: 'success' | 'failure'): void;
  /** A config is in force since `nowSeconds` (Unix time). */
  configInForce(revision: string, source: string, nowSeconds: number): void;
}

/** Creates a registry of its own, so that several gateways fit into one process. */
export function createMetrics(openRequests: () => number): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'gateway_requests_total',
    help: 'Model requests by endpoint, provider that answered (empty: none) and status sent to the client (499: it left).',
    labelNames: ['endpoint', 'provider', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'gateway_request_duration_seconds',
    help: 'Time from the head of a model request to the last byte of its answer.',
    labelNames: ['endpoint'],
    buckets: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600],
    registers,
  });
  new Gauge({
    name: 'gateway_requests_in_flight',
    help: 'Requests being served at this moment.',
    registers,
    collect() {
      this.set(openRequests());
    },
  });
  const reloads = new Counter({
    name: 'gateway_config_reload_total',
    help: 'Config reloads by result.',
    labelNames: ['result'],
    registers,
  });
  reloads.inc({ result: 'success' }, 0);
  reloads.inc({ result: 'failure' }, 0);
  const successful = new Gauge({
    name: 'gateway_config_last_reload_successful',
    help: '1 when the config on disk is in force, 0 when it was rejected and an older one serves.',
    registers,
  });
  const successTime = new Gauge({
    name: 'gateway_config_last_reload_success_timestamp_seconds',
    help: 'Unix time at which the config in force was applied.',
    registers,
  });
  const info = new Gauge({
    name: 'gateway_config_info',
    help: 'The config in force; the value is always 1.',
    labelNames: ['revision', 'source'],
    registers,
  });
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    request(endpoint, provider, status, seconds) {
      requests.inc({ endpoint, provider, status });
      durations.observe({ endpoint }, seconds);
    },
    reload(result) {
      reloads.inc({ result });
      successful.set(result === 'success' ? 1 : 0);
    },
    configInForce(revision, source, nowSeconds) {
      info.reset();
      info.set({ revision, source }, 1);
      successTime.set(nowSeconds);
    },
  };
}
