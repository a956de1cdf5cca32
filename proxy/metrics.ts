// Every metric of the data plane: names, labels and help in one place. Labels never hold an unbounded value.
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { FollowStatus } from '../gitops/config-status.ts';
import { type MetricDefinition, skippedMetric } from '../schemas/metrics.ts';
import type { StateStatus } from '../store/state/follow-state.ts';
import type { BodyBudget } from './body-budget.ts';
import type { ConnectionCounts } from './connection/connections.ts';
import { observeConnections } from './connection-metrics.ts';
import { Exposition } from './exposition.ts';
import { type LimitMetrics, observeLimits } from './limit-metrics.ts';
import type { Limiter } from './limits/limiter.ts';
import { PlainHistogram } from './plain-histogram.ts';

export interface Metrics extends LimitMetrics {
  readonly contentType: string;
  /** The exposition text of all metrics; one call at a time. */
  text(): Promise<string>;
  /** A model request began. */
  begin(): void;
  /** A request ended. `provider` is empty when none was asked; 499 stands for a client that left. */
  request(endpoint: string, provider: string, status: number, seconds: number): void;
}

/** What is asked at every scrape instead of being counted along. */
export interface ObservedFacts {
  /** The state of the config flow; undefined before the first load. */
  config: () => FollowStatus | undefined;
  /** The managed state; undefined before it was looked for. */
  state: () => StateStatus | undefined;
  limiter: Limiter;
  bodies: Pick<BodyBudget, 'held' | 'refused'>;
  connections: () => ConnectionCounts;
  /** The state store, and when the counters were last written there: Unix milliseconds, 0 for never. */
  store: () => { readonly isUp: boolean; readonly writtenAtMs: number };
  /** Whole milliseconds of the limiter's clock. */
  nowMs: () => number;
}

/** Creates a registry of its own, so that several gateways fit into one process. */
export function createMetrics(facts: ObservedFacts): Metrics {
  const registry = new Registry();
  const registers = [registry];
  let inFlight = 0;
  collectDefaultMetrics({ register: registry });
  // Counted in plain numbers, because prom-client hashes the labels of every count.
  const tally = new Map<string, { labels: Record<string, string | number>; count: number }>();
  new Counter({
    name: 'gateway_requests_total',
    help: 'Model requests by endpoint, provider that answered (empty: none) and status: what the client got, the error that broke its answer off, or 499 when it left.',
    labelNames: ['endpoint', 'provider', 'status'],
    registers,
    collect() {
      this.reset();
      for (const { labels, count } of tally.values()) this.inc(labels, count);
    },
  });
  const durations = new Map<string, PlainHistogram>();
  new Gauge({
    name: 'gateway_requests_in_flight',
    help: 'Model requests being served at this moment.',
    registers,
    collect() {
      this.set(inFlight);
    },
  });
  observeBodies(registers, facts.bodies);
  observeConfig(registers, facts.config);
  observeStore(registers, facts);
  observeConnections(registers, facts.connections);
  const limits = observeLimits(registers, facts.limiter, facts.nowMs);
  return {
    ...limits,
    contentType: registry.contentType,
    text: async () => `${await registry.metrics()}\n${durationsText(durations)}${await limits.rulesText()}`,
    begin() {
      inFlight += 1;
    },
    request(endpoint, provider, status, seconds) {
      inFlight -= 1;
      const key = `${endpoint} ${provider} ${status}`;
      const counted = tally.get(key);
      if (counted) counted.count += 1;
      else tally.set(key, { labels: { endpoint, provider, status }, count: 1 });
      if (!durations.has(endpoint)) durations.set(endpoint, new PlainHistogram(durationMetric.buckets));
      durations.get(endpoint)?.observe(seconds);
    },
  };
}

const durationMetric = {
  name: 'gateway_request_duration_seconds',
  help: 'Time from the head of a model request to the last byte of its answer.',
  type: 'histogram',
  labelNames: ['endpoint'],
  buckets: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600],
} as const satisfies MetricDefinition;

function durationsText(durations: ReadonlyMap<string, PlainHistogram>): string {
  const exposition = new Exposition();
  exposition.metric(durationMetric);
  for (const [endpoint, histogram] of durations) histogram.write(exposition, durationMetric.name, { endpoint });
  return exposition.text();
}

function observeBodies(registers: Registry[], bodies: ObservedFacts['bodies']): void {
  new Gauge({
    name: 'gateway_request_body_bytes',
    help: 'Memory that the bodies of open requests take at this moment.',
    registers,
    collect() {
      this.set(bodies.held);
    },
  });
  new Counter({
    name: 'gateway_request_bodies_refused_total',
    help: 'Requests refused (503) because their body did not fit into server.body_budget.',
    registers,
    collect() {
      this.reset();
      this.inc(bodies.refused);
    },
  });
}

function observeConfig(registers: Registry[], config: ObservedFacts['config']): void {
  new Counter({
    name: 'gateway_config_reload_total',
    help: 'Config reloads by result. A failure keeps the config in force.',
    labelNames: ['result'],
    registers,
    collect() {
      const { success, failure } = config()?.reloads ?? { success: 0, failure: 0 };
      this.reset();
      this.inc({ result: 'success' }, success);
      this.inc({ result: 'failure' }, failure);
    },
  });
  new Gauge({
    name: 'gateway_config_last_reload_successful',
    help: '1 when the config on disk is in force, 0 when it was rejected and an older one serves.',
    registers,
    collect() {
      this.set(config()?.lastReloadSuccessful ? 1 : 0);
    },
  });
  new Gauge({
    name: 'gateway_config_last_reload_success_timestamp_seconds',
    help: 'Unix time at which the config directory was last found good.',
    registers,
    collect() {
      this.set((config()?.lastSuccessMs ?? 0) / 1000);
    },
  });
  new Gauge({
    name: 'gateway_config_info',
    help: 'The config in force and where it came from (directory or last-good); the value is always 1.',
    labelNames: ['revision', 'source'],
    registers,
    collect() {
      const status = config();
      this.reset();
      if (status) this.set({ revision: status.revision, source: status.source }, 1);
    },
  });
}

function observeStore(registers: Registry[], { store, state }: ObservedFacts): void {
  new Gauge({
    name: 'gateway_state_store_up',
    help: '1 when the state store takes what this proxy writes, 0 while counters are kept in memory only.',
    registers,
    collect() {
      this.set(store().isUp ? 1 : 0);
    },
  });
  new Gauge({
    name: skippedMetric.name,
    help: skippedMetric.help,
    labelNames: skippedMetric.labelNames,
    registers,
    collect() {
      for (const [reason, count] of Object.entries(state()?.skipped ?? {})) this.set({ reason }, count);
    },
  });
  new Gauge({
    name: 'gateway_counters_written_timestamp_seconds',
    help: 'Unix time at which the counters of rate limits were last written to the state store.',
    registers,
    collect() {
      this.set(store().writtenAtMs / 1000);
    },
  });
  new Gauge({
    name: 'gateway_state_revision',
    help: 'Revision of the managed state (manual rules, keys) in force, and where it came from: store, copy or nothing.',
    labelNames: ['source'],
    registers,
    collect() {
      const status = state();
      this.reset();
      if (status) this.set({ source: status.source }, status.revision);
    },
  });
  new Gauge({
    name: 'gateway_state_store_emptied',
    help: '1 while the state store has lost the managed state that is in force here.',
    registers,
    collect() {
      this.set(state()?.isEmptied ? 1 : 0);
    },
  });
}
