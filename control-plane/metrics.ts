// The metrics of the control plane for Prometheus; the only file of this plane that imports the metrics package.
import type { FollowStatus } from '../gitops/follow/config-status.ts';
import type { FailedLogins } from '../plane/access/failed-logins.ts';
import type { LineWriter } from '../plane/line-writer.ts';
import { Counter, collectProcessMetrics, Gauge, Registry } from '../plane/prometheus.ts';
import { controlPlaneMetrics as defined } from '../schemas/metrics/control-plane-metrics.ts';
import type { MetricDefinition } from '../schemas/metrics/limit-metrics.ts';
import { isEmptied } from '../store/state/custody.ts';
import type { StateStatus } from '../store/state/state-status.ts';
import { exposeBudgets } from './budget-metrics.ts';
import type { BudgetWatch } from './budgets/watch.ts';
import type { Fleet } from './fleet.ts';
import type { DrainStatus } from './records/drain-journal.ts';
import type { RoomStatus } from './records/keep-within.ts';

export interface Metrics {
  readonly contentType: string;
  /** The exposition text of all metrics. */
  text(): Promise<string>;
}

/** The facts that are read at every scrape. */
export interface ObservedFacts {
  readonly version: string;
  readonly config: () => FollowStatus | undefined;
  readonly state: () => StateStatus | undefined;
  /** Why files of secrets do not hold what is in force. */
  readonly secretProblems: () => readonly string[];
  readonly fleet: Pick<Fleet, 'proxies' | 'lagSeconds'>;
  readonly failedLogins: Pick<FailedLogins, 'counts'>;
  readonly records: () => DrainStatus;
  /** See `KeptRecords`. */
  readonly room: () => RoomStatus | undefined;
  readonly output: Pick<LineWriter, 'droppedEvents'>;
  readonly budgets: Pick<BudgetWatch, 'standings'>;
}

/** Creates a registry (no global state) with the metrics of the process and the fleet. */
export function createMetrics(facts: ObservedFacts): Metrics {
  const { version, config, state, secretProblems, fleet, failedLogins, records, output } = facts;
  const registry = new Registry();
  const registers = [registry];
  collectProcessMetrics(registry);
  new Gauge({ ...defined.build, registers }).set({ plane: 'control-plane', version, node: process.versions.node }, 1);
  new Counter({
    ...defined.authFailures,
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(failedLogins.counts())) this.inc({ reason }, count);
    },
  });
  new Counter({
    ...defined.logEventsDropped,
    registers,
    collect() {
      this.reset();
      this.inc(output.droppedEvents);
    },
  });
  exposeRecords(registers, facts);
  const gauge = (definition: MetricDefinition, read: () => number): void => {
    new Gauge({
      ...definition,
      registers,
      collect() {
        this.set(read());
      },
    });
  };
  gauge(defined.configIsGood, () => (config()?.lastReloadSuccessful ? 1 : 0));
  gauge(defined.stateRevision, () => state()?.revision ?? 0);
  gauge(defined.stateStoreUp, () => (state()?.isUp ? 1 : 0));
  gauge(defined.stateStoreEmptied, () => (isEmptied(state()?.standing) ? 1 : 0));
  gauge(defined.stateStoreBehind, () => (state()?.standing === 'behind' ? 1 : 0));
  gauge(defined.stateStoreEvicts, () => (state()?.evicts === undefined ? 0 : 1));
  new Counter({
    ...defined.stateWriteBacks,
    registers,
    collect() {
      this.reset();
      this.inc(state()?.writeBacks ?? 0);
    },
  });
  new Gauge({
    ...defined.stateSkipped,
    registers,
    collect() {
      for (const [reason, count] of Object.entries(state()?.skipped ?? {})) this.set({ reason }, count);
    },
  });
  const live = () => fleet.proxies().filter(({ isLive }) => isLive);
  gauge(defined.proxiesLive, () => live().length);
  gauge(defined.proxiesBehind, () => live().filter(({ isConverged }) => !isConverged).length);
  gauge(defined.instancesShared, () => fleet.proxies().filter(({ isShared }) => isShared).length);
  gauge(defined.secretFilesUnusable, () => secretProblems().length);
  gauge(defined.recordStoreUp, () => (records().trouble === undefined ? 1 : 0));
  gauge(defined.convergenceLag, () => fleet.lagSeconds());
  exposeBudgets(registers, facts.budgets);
  return { contentType: registry.contentType, text: () => registry.metrics() };
}

/** What became of records, and what room they take. */
function exposeRecords(registers: Registry[], { records, room }: Pick<ObservedFacts, 'records' | 'room'>): void {
  new Counter({
    ...defined.recordsTaken,
    registers,
    collect() {
      const { storedRecords, lostRecords } = records();
      this.reset();
      this.inc({ outcome: 'stored' }, storedRecords);
      this.inc({ outcome: 'lost' }, lostRecords);
    },
  });
  new Gauge({
    ...defined.recordBytes,
    registers,
    collect() {
      const { usedBytes, mostBytes } = room() ?? {};
      this.reset();
      if (usedBytes === undefined || mostBytes === undefined) return;
      this.set({ bound: 'used' }, usedBytes);
      this.set({ bound: 'most' }, mostBytes);
    },
  });
  new Counter({
    ...defined.recordsRelieved,
    registers,
    collect() {
      const { bodiesRemoved = 0, entriesRemoved = 0 } = room() ?? {};
      this.reset();
      this.inc({ what: 'body' }, bodiesRemoved);
      this.inc({ what: 'entry' }, entriesRemoved);
    },
  });
}
