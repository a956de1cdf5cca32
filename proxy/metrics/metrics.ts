// What Prometheus sees of the data plane; what each metric means is written in schemas/metrics/proxy-metrics.ts and schemas/metrics/limit-metrics.ts.
import type { FailedLogins } from '../../plane/access/failed-logins.ts';
import type { LineWriter } from '../../plane/line-writer.ts';
import { Counter, collectProcessMetrics, Gauge, Registry } from '../../plane/prometheus.ts';
import type { MetricDefinition } from '../../schemas/metrics/limit-metrics.ts';
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import type { BudgetsInForce } from '../budgets/budgets-in-force.ts';
import type { Discovery } from '../discovery/discovery.ts';
import { GuardrailTally } from '../guardrails/tally.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import type { ConnectionCounts } from '../http/connections.ts';
import { type StoredResponses, storingOutcomes } from '../kept/responses/stored-responses.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Readiness } from '../readiness.ts';
import type { RecordingStatus } from '../records/open-records.ts';
import type { SpanCounts } from '../records/spans/spans.ts';
import { type RetryBudgets, retryKinds } from '../routing/retry/retry-budgets.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { AuxiliaryTally, auxiliaryOutcomes, auxiliaryPurposes } from '../tallies/auxiliary-tally.ts';
import { Exposition } from '../tallies/exposition.ts';
import { RequestTally } from '../tallies/request-tally.ts';
import type { SessionCounts } from '../tallies/session-counts.ts';
import { UpstreamTally } from '../tallies/upstream-tally.ts';
import type { TargetStates } from '../targets/target-states.ts';
import { observeBudgets } from './budget-metrics.ts';
import { type ObservedCache, observeCache } from './cache-metrics.ts';
import { observeConnections } from './connection-metrics.ts';
import { observeDiscovery } from './discovery-metrics.ts';
import { observeGuardrails } from './guardrail-metrics.ts';
import { observeJournal } from './journal-metrics.ts';
import { observeKeys } from './key-metrics.ts';
import { type LimitMetrics, observeLimits } from './limit-metrics.ts';
import { observeSessions } from './session-metrics.ts';
import { observeSpans } from './span-metrics.ts';
import { observeConfig, observeStore, type StateFacts } from './state-metrics.ts';
import { writeTargets } from './target-metrics.ts';

export interface Metrics extends LimitMetrics {
  readonly contentType: string;
  /** The exposition text of all metrics; one call at a time. */
  text(): Promise<string>;
  readonly requests: RequestTally;
  readonly upstream: UpstreamTally;
  readonly auxiliary: AuxiliaryTally;
  readonly guardrails: GuardrailTally;
  /** Only what this snapshot has keeps series of its own: providers, their models, guardrails. */
  keep(snapshot: Pick<Snapshot, 'guardrails' | 'routes' | 'upstreams'>): void;
}

/** What is asked at every scrape instead of being counted along. */
export interface ObservedFacts extends StateFacts {
  /** Of the product. */
  version: string;
  failedLogins: Pick<FailedLogins, 'counts'>;
  readiness: () => Pick<Readiness, 'status'>;
  /** The control plane answers. */
  hasControlPlane: () => boolean;
  /** Why files of the gateway's own secrets do not hold what is in force. */
  secretProblems: () => readonly string[];
  limiter: Limiter;
  targets: Pick<TargetStates, 'known'>;
  discovery: Pick<Discovery, 'known'>;
  bodies: Pick<BodyBudget, 'held' | 'refused'>;
  budgets: Pick<BudgetsInForce, 'decisions' | 'size'>;
  cache: ObservedCache;
  connections: () => ConnectionCounts;
  sessions: () => SessionCounts;
  output: Pick<LineWriter, 'droppedRequests' | 'droppedEvents'>;
  retries: Pick<RetryBudgets, 'counts' | 'refused'>;
  storedResponses: Pick<StoredResponses, 'counts'>;
  recording: { readonly status: () => RecordingStatus; readonly flush: () => void };
  /** Of OpenTelemetry. */
  spans: () => SpanCounts;
  /** Whole milliseconds of the limiter's clock. */
  nowMs: () => number;
}

/** Creates a registry of its own, so that several gateways fit into one process. */
export function createMetrics(facts: ObservedFacts): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectProcessMetrics(registry);
  const { build, authFailures } = proxyMetrics;
  new Gauge({ ...build, registers }).set({ plane: 'proxy', version: facts.version, node: process.versions.node }, 1);
  new Counter({
    ...authFailures,
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(facts.failedLogins.counts())) this.inc({ reason }, count);
    },
  });
  observeReadiness(registers, facts);
  observeBodies(registers, facts.bodies);
  observeBudgets(registers, facts.budgets);
  observeCache(registers, facts.cache);
  observeConfig(registers, facts.config);
  observeStore(registers, facts);
  observeConnections(registers, facts.connections);
  observeSessions(registers, facts.sessions);
  observeOutput(registers, facts.output);
  observeRetries(registers, facts.retries);
  observeStoredResponses(registers, facts.storedResponses);
  observeDiscovery(registers, facts.discovery);
  observeJournal(registers, facts.recording.status);
  observeSpans(registers, facts.spans);
  const limits = observeLimits(registers, facts.limiter, facts.nowMs);
  const requests = new RequestTally();
  const upstream = new UpstreamTally();
  const auxiliary = new AuxiliaryTally();
  observeAuxiliary(registers, auxiliary);
  const guardrails = new GuardrailTally();
  observeGuardrails(registers, guardrails);
  let kept: Snapshot['routes'] | undefined;
  let providers: Snapshot['upstreams'] = [];
  observeKeys(registers, () => providers, facts.nowMs);
  return {
    ...limits,
    contentType: registry.contentType,
    requests,
    upstream,
    auxiliary,
    guardrails,
    keep({ guardrails: known, routes, upstreams }) {
      // The same object when only keys have changed.
      if (routes === kept) return;
      kept = routes;
      providers = upstreams;
      guardrails.keep(new Set(known.map(({ name }) => name)));
      requests.keep(new Set(upstreams.map(({ name }) => name)));
      upstream.keep([...routes.values()].flatMap(({ targets }) => targets));
    },
    async text() {
      const exposition = new Exposition();
      facts.recording.flush();
      await requests.write(exposition);
      await upstream.write(exposition);
      await writeTargets(exposition, facts.targets, facts.nowMs());
      return `${await registry.metrics()}\n${exposition.text()}${await limits.rulesText()}`;
    },
  };
}

function observeReadiness(registers: Registry[], facts: ObservedFacts): void {
  const { readiness, hasControlPlane, secretProblems } = facts;
  const gauge = (definition: MetricDefinition, isSo: () => boolean): void => {
    new Gauge({
      ...definition,
      registers,
      collect() {
        this.set(isSo() ? 1 : 0);
      },
    });
  };
  gauge(proxyMetrics.ready, () => ['ready', 'degraded'].includes(readiness().status));
  gauge(proxyMetrics.overloaded, () => readiness().status === 'overloaded');
  gauge(proxyMetrics.controlPlaneUp, hasControlPlane);
  new Gauge({
    ...proxyMetrics.secretFilesUnusable,
    registers,
    collect() {
      this.set(secretProblems().length);
    },
  });
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

function observeOutput(registers: Registry[], output: ObservedFacts['output']): void {
  new Counter({
    ...proxyMetrics.accessLogDropped,
    registers,
    collect() {
      this.reset();
      this.inc(output.droppedRequests);
    },
  });
  new Counter({
    ...proxyMetrics.logEventsDropped,
    registers,
    collect() {
      this.reset();
      this.inc(output.droppedEvents);
    },
  });
}

function observeRetries(registers: Registry[], retries: ObservedFacts['retries']): void {
  new Counter({
    ...proxyMetrics.retries,
    registers,
    collect() {
      this.reset();
      for (const kind of retryKinds) this.inc({ kind }, retries.counts[kind]);
    },
  });
  new Counter({
    ...proxyMetrics.retriesRefused,
    registers,
    collect() {
      this.reset();
      this.inc(retries.refused);
    },
  });
}

function observeAuxiliary(registers: Registry[], tally: AuxiliaryTally): void {
  new Counter({
    ...proxyMetrics.auxiliaryCalls,
    registers,
    collect() {
      this.reset();
      for (const purpose of auxiliaryPurposes)
        for (const outcome of auxiliaryOutcomes) this.inc({ purpose, outcome }, tally.count(purpose, outcome));
    },
  });
}

function observeStoredResponses(registers: Registry[], { counts }: ObservedFacts['storedResponses']): void {
  new Counter({
    ...proxyMetrics.storedResponses,
    registers,
    collect() {
      this.reset();
      for (const outcome of storingOutcomes) this.inc({ outcome }, counts[outcome]);
    },
  });
}
