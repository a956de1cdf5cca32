// What Prometheus sees of the data plane; what each metric means is written in schemas/proxy-metrics.ts and schemas/metrics.ts.
import type { FollowStatus } from '../gitops/config-status.ts';
import { Counter, collectProcessMetrics, Gauge, Registry } from '../plane/prometheus.ts';
import { proxyMetrics } from '../schemas/proxy-metrics.ts';
import { isEmptied } from '../store/state/custody.ts';
import type { StateStatus } from '../store/state/state-status.ts';
import type { BodyBudget } from './body-budget.ts';
import type { ConnectionCounts } from './connection/connections.ts';
import { observeConnections } from './connection-metrics.ts';
import { Exposition } from './exposition.ts';
import { type LimitMetrics, observeLimits } from './limit-metrics.ts';
import type { Limiter } from './limits/limiter.ts';
import { PlainHistogram } from './plain-histogram.ts';
import { RequestTally } from './request-tally.ts';

/** The kinds of requests: model calls, those for the control plane, all others, and those refused before they were any of these. */
export type TripName = 'model' | 'admin' | 'other' | 'none';

export interface Metrics extends LimitMetrics {
  readonly contentType: string;
  /** The exposition text of all metrics; one call at a time. */
  text(): Promise<string>;
  /** A model request began. */
  begin(): void;
  /** A model request ended. `provider` is empty when none was asked; 499 stands for a client that left. */
  request(endpoint: string, provider: string, status: number, seconds: number): void;
  /** Any other request ended. */
  answered(trip: Exclude<TripName, 'model'>, status: number): void;
}

/** What is asked at every scrape instead of being counted along. */
export interface ObservedFacts {
  /** The state of the config flow; undefined before the first load. */
  config: () => FollowStatus | undefined;
  /** The managed state; undefined before the first read. */
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
  collectProcessMetrics(registry);
  // Counted in plain numbers, because prom-client hashes the labels of every count.
  const tally = new RequestTally();
  new Counter({
    ...proxyMetrics.requests,
    registers,
    collect() {
      this.reset();
      for (const { labels, count } of tally.counts()) this.inc({ ...labels }, count);
    },
  });
  const others = new Map<string, { labels: Record<string, string | number>; count: number }>();
  new Counter({
    ...proxyMetrics.httpRequests,
    registers,
    collect() {
      this.reset();
      for (const { labels, count } of tally.counts()) this.inc({ trip: 'model', status: labels.status }, count);
      for (const { labels, count } of others.values()) this.inc(labels, count);
    },
  });
  const durations = new Map<string, PlainHistogram>();
  new Gauge({
    ...proxyMetrics.inFlight,
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
      tally.add(endpoint, provider, status);
      let histogram = durations.get(endpoint);
      if (histogram === undefined) {
        histogram = new PlainHistogram(proxyMetrics.duration.buckets);
        durations.set(endpoint, histogram);
      }
      histogram.observe(seconds);
    },
    answered(trip, status) {
      const key = `${trip} ${status}`;
      const counted = others.get(key);
      if (counted) counted.count += 1;
      else others.set(key, { labels: { trip, status }, count: 1 });
    },
  };
}

function durationsText(durations: ReadonlyMap<string, PlainHistogram>): string {
  const exposition = new Exposition();
  exposition.metric(proxyMetrics.duration);
  for (const [endpoint, histogram] of durations) histogram.write(exposition, proxyMetrics.duration.name, { endpoint });
  return exposition.text();
}

function observeBodies(registers: Registry[], bodies: ObservedFacts['bodies']): void {
  new Gauge({
    ...proxyMetrics.bodyBytes,
    registers,
    collect() {
      this.set(bodies.held);
    },
  });
  new Counter({
    ...proxyMetrics.bodiesRefused,
    registers,
    collect() {
      this.reset();
      this.inc(bodies.refused);
    },
  });
}

function observeConfig(registers: Registry[], config: ObservedFacts['config']): void {
  new Counter({
    ...proxyMetrics.configReloads,
    registers,
    collect() {
      const { success, failure } = config()?.reloads ?? { success: 0, failure: 0 };
      this.reset();
      this.inc({ result: 'success' }, success);
      this.inc({ result: 'failure' }, failure);
    },
  });
  new Gauge({
    ...proxyMetrics.configIsGood,
    registers,
    collect() {
      this.set(config()?.lastReloadSuccessful ? 1 : 0);
    },
  });
  new Gauge({
    ...proxyMetrics.configLastGood,
    registers,
    collect() {
      this.set((config()?.lastSuccessMs ?? 0) / 1000);
    },
  });
  new Gauge({
    ...proxyMetrics.configInfo,
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
    ...proxyMetrics.stateStoreUp,
    registers,
    collect() {
      this.set(store().isUp ? 1 : 0);
    },
  });
  new Gauge({
    ...proxyMetrics.stateSkipped,
    registers,
    collect() {
      for (const [reason, count] of Object.entries(state()?.skipped ?? {})) this.set({ reason }, count);
    },
  });
  new Gauge({
    ...proxyMetrics.countersWritten,
    registers,
    collect() {
      this.set(store().writtenAtMs / 1000);
    },
  });
  new Gauge({
    ...proxyMetrics.stateRevision,
    registers,
    collect() {
      const status = state();
      this.reset();
      if (status) this.set({ source: status.source }, status.revision);
    },
  });
  new Gauge({
    ...proxyMetrics.stateStoreEmptied,
    registers,
    collect() {
      this.set(isEmptied(state()?.standing) ? 1 : 0);
    },
  });
}
