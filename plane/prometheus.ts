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

export { Counter, Gauge, Histogram, Registry };

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
  const count = (name: string, help: string, microseconds: (usage: NodeJS.CpuUsage) => number): void => {
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(microseconds(process.cpuUsage()) / 1e6);
      },
    });
  };
  count('process_cpu_user_seconds_total', 'Total user CPU time spent in seconds.', ({ user }) => user);
  count('process_cpu_system_seconds_total', 'Total system CPU time spent in seconds.', ({ system }) => system);
  count('process_cpu_seconds_total', 'Total user and system CPU time spent in seconds.', ({ user, system }) => {
    return user + system;
  });
}
