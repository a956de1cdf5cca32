// The parts of prom-client that the planes use, each from its own file: its index also loads a push gateway, a cluster, summaries and
// OpenTelemetry, 90 files that take 60 ms of each start.
import Counter from 'prom-client/lib/counter.js';
import Gauge from 'prom-client/lib/gauge.js';
import Histogram from 'prom-client/lib/histogram.js';
import eventLoopLag from 'prom-client/lib/metrics/eventLoopLag.js';
import gc from 'prom-client/lib/metrics/gc.js';
import heapSizeAndUsed from 'prom-client/lib/metrics/heapSizeAndUsed.js';
import heapSpacesSizeAndUsed from 'prom-client/lib/metrics/heapSpacesSizeAndUsed.js';
import osMemoryHeap from 'prom-client/lib/metrics/osMemoryHeap.js';
import processHandles from 'prom-client/lib/metrics/processHandles.js';
import processMaxFileDescriptors from 'prom-client/lib/metrics/processMaxFileDescriptors.js';
import processOpenFileDescriptors from 'prom-client/lib/metrics/processOpenFileDescriptors.js';
import processRequests from 'prom-client/lib/metrics/processRequests.js';
import processResources from 'prom-client/lib/metrics/processResources.js';
import processStartTime from 'prom-client/lib/metrics/processStartTime.js';
import version from 'prom-client/lib/metrics/version.js';
import Registry from 'prom-client/lib/registry.js';
import type { ConfigPin } from '../domain/config-pins/config-pin.ts';
import { expiryMs } from '../domain/rules/authorship.ts';
import type { FollowStatus } from '../gitops/follow/config-status.ts';
import type { MetricDefinition } from '../schemas/metrics/limit-metrics.ts';
import { givenReasons } from './given-reasons.ts';

export { Histogram, Registry };

/** The samples of a counter or a gauge at a scrape: its one value, or each sample. */
export type Shown = number | Iterable<readonly [labels: Readonly<Record<string, string>>, value: number]>;

/**
 * Registers a counter or a gauge for each reader, as the definition of the same name says; histograms are not read so. The readers are
 * called at every scrape and give totals, in the unit that the definition names.
 */
export function registerReaders<Name extends string>(
  registry: Registry,
  definitions: Readonly<Record<Name, MetricDefinition>>,
  readers: Readonly<Record<Name, () => Shown>>,
): void {
  for (const [key, read] of Object.entries<() => Shown>(readers)) {
    const { name, help, labelNames, type } = definitions[key as Name];
    const settings = { name, help, labelNames, registers: [registry] };
    if (type === 'counter') {
      new Counter({
        ...settings,
        collect() {
          this.reset();
          for (const [labels, value] of samplesOf(read())) this.inc(labels, value);
        },
      });
    } else {
      new Gauge({
        ...settings,
        collect() {
          this.reset();
          for (const [labels, value] of samplesOf(read())) this.set(labels, value);
        },
      });
    }
  }
}

function samplesOf(shown: Shown): Exclude<Shown, number> {
  return typeof shown === 'number' ? [[{}, shown]] : shown;
}

/** The samples of a metric with one label, of counts by its values. */
export function* byLabel(label: string, counts: Readonly<Record<string, number>>): Exclude<Shown, number> {
  for (const [value, count] of Object.entries(counts)) yield [{ [label]: value }, count];
}

/** Since when the configuration directory is rejected, by the revision of its content. */
export function* rejectedSince(status: FollowStatus | undefined): Exclude<Shown, number> {
  const { rejected } = status ?? {};
  if (rejected !== undefined) yield [{ revision: rejected.revision }, rejected.sinceMs / 1000];
}

/** Whether a pinned revision is in force, and whether it cannot be. */
export function pinStates(status: FollowStatus | undefined): Exclude<Shown, number> {
  const reasons = givenReasons(status?.given);
  const flag = (reason: string): number => (reasons.includes(reason) ? 1 : 0);
  return [
    [{ state: 'in_force' }, flag('config_pinned')],
    [{ state: 'unusable' }, flag('config_pin_unusable')],
  ];
}

/** When the pin ends. */
export function* pinEnd(pin: ConfigPin | undefined): Exclude<Shown, number> {
  if (pin !== undefined) yield [{ revision: pin.revision }, expiryMs(pin) / 1000];
}

/** The default metrics of prom-client without `processCpuTotal`, which loads OpenTelemetry. */
const collectors = [
  processStartTime,
  osMemoryHeap,
  processOpenFileDescriptors,
  processMaxFileDescriptors,
  eventLoopLag,
  processResources,
  processHandles,
  processRequests,
  heapSizeAndUsed,
  heapSpacesSizeAndUsed,
  version,
  gc,
];

/** Between two looks at the event loop, and what its lag is at rest. Milliseconds; the usual 10 wake an idle process twice as often. */
const lagTickMs = 20;

/** Gauges with the suffix of counters, which promtool objects to. Each is the sum of the gauge of that name without `_total`. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Adds the metrics of the process: processor, memory, files, event loop, garbage collection. */
export function collectProcessMetrics(registry: Registry): void {
  countProcessorTime(registry);
  for (const collect of collectors) collect(registry, { eventLoopMonitoringPrecision: lagTickMs });
  for (const name of misnamed) registry.removeSingleMetric(name);
}

function countProcessorTime(registry: Registry): void {
  const counter = (name: string, help: string): MetricDefinition => ({ name, help, type: 'counter', labelNames: [] });
  const definitions = {
    user: counter('process_cpu_user_seconds_total', 'Total user CPU time spent in seconds.'),
    system: counter('process_cpu_system_seconds_total', 'Total system CPU time spent in seconds.'),
    both: counter('process_cpu_seconds_total', 'Total user and system CPU time spent in seconds.'),
  };
  registerReaders(registry, definitions, {
    user: () => process.cpuUsage().user / 1e6,
    system: () => process.cpuUsage().system / 1e6,
    both: () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6,
  });
}
