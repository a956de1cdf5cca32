// What Prometheus sees of the configuration and of the stored state.
import type { FollowStatus } from '../../gitops/follow/config-status.ts';
import { Counter, Gauge, type Registry } from '../../plane/prometheus.ts';
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import { isEmptied } from '../../store/state/custody.ts';
import type { StateStatus } from '../../store/state/state-status.ts';

export interface StateFacts {
  /** The state of the config flow; undefined before the first load. */
  config: () => FollowStatus | undefined;
  /** The managed state; undefined before the first read. */
  state: () => StateStatus | undefined;
  /** The state store, and when the counters were last written there: Unix milliseconds, 0 for never. */
  store: () => { readonly isUp: boolean; readonly writtenAtMs: number };
}

/** The reloads, and what is in force. */
export function observeConfig(registers: Registry[], config: StateFacts['config']): void {
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
    ...proxyMetrics.keyFilesUnreadable,
    registers,
    collect() {
      this.set(config()?.keyFileProblems?.length ?? 0);
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

/** The state store, the documents and the counters. */
export function observeStore(registers: Registry[], { store, state }: Pick<StateFacts, 'store' | 'state'>): void {
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
    ...proxyMetrics.stateStoreBehind,
    registers,
    collect() {
      this.set(state()?.standing === 'behind' ? 1 : 0);
    },
  });
  new Gauge({
    ...proxyMetrics.stateStoreEvicts,
    registers,
    collect() {
      this.set(state()?.evicts === undefined ? 0 : 1);
    },
  });
  new Counter({
    ...proxyMetrics.stateWriteBacks,
    registers,
    collect() {
      this.reset();
      this.inc(state()?.writeBacks ?? 0);
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
