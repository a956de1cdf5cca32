// What Prometheus sees of the control plane; the only file here that knows the metrics package.
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { FollowStatus } from '../gitops/config-status.ts';
import { skippedMetric } from '../schemas/metrics.ts';
import type { StateStatus } from '../store/state/follow-state.ts';
import type { Fleet } from './fleet.ts';

export interface Metrics {
  readonly contentType: string;
  /** The exposition text of all metrics. */
  text(): Promise<string>;
}

/** What is asked at every scrape. */
export interface ObservedFacts {
  readonly version: string;
  readonly config: () => FollowStatus | undefined;
  readonly state: () => StateStatus | undefined;
  readonly fleet: Pick<Fleet, 'proxies' | 'lagSeconds'>;
}

/** A registry of its own (nothing global) with the process metrics and those of the fleet. */
export function createMetrics({ version, config, state, fleet }: ObservedFacts): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'gateway_build_info',
    help: 'Always 1; the labels say which plane and version is running, on which Node.',
    labelNames: ['plane', 'version', 'node'],
    registers,
  }).set({ plane: 'control-plane', version, node: process.versions.node }, 1);
  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  };
  gauge(
    'gateway_config_last_reload_successful',
    '1 when the config on disk is in force, 0 when it was rejected.',
    () => (config()?.lastReloadSuccessful ? 1 : 0),
  );
  gauge('gateway_state_revision', 'Revision of the managed state in force.', () => state()?.revision ?? 0);
  gauge('gateway_state_store_up', '1 while the state store answers.', () => (state()?.isUp ? 1 : 0));
  gauge('gateway_state_store_emptied', '1 while the state store has lost the managed state.', () =>
    state()?.isEmptied ? 1 : 0,
  );
  new Gauge({
    name: skippedMetric.name,
    help: skippedMetric.help,
    labelNames: skippedMetric.labelNames,
    registers,
    collect() {
      for (const [reason, count] of Object.entries(state()?.skipped ?? {})) this.set({ reason }, count);
    },
  });
  const live = () => fleet.proxies().filter(({ isLive }) => isLive);
  gauge('gateway_proxies_live', 'Proxies heard within the last three seconds.', () => live().length);
  gauge(
    'gateway_proxies_behind',
    'Live proxies that do not enforce the config and managed state they should.',
    () => live().filter(({ isConverged }) => !isConverged).length,
  );
  gauge(
    'gateway_proxies_sharing_instance',
    'Instance names in whose name more than one proxy speaks; their counters overwrite each other.',
    () => fleet.proxies().filter(({ isShared }) => isShared).length,
  );
  gauge('gateway_convergence_lag_seconds', 'For how long some live proxy has been behind; 0 when none is.', () =>
    fleet.lagSeconds(),
  );
  return { contentType: registry.contentType, text: () => registry.metrics() };
}
