// The metrics of a proxy about its own processes (GATEWAY_WORKERS): names, labels, help.
import type { MetricDefinition } from './limit-metrics.ts';

export const workerMetrics = {
  workers: {
    name: 'gateway_workers',
    type: 'gauge',
    help: 'Processes that serve the port of this proxy (GATEWAY_WORKERS), by state: serving, or missing (starting, silent for three seconds, or gone).',
    labelNames: ['state'],
    acrossWorkers: 'max',
  },
  workersLeftOut: {
    name: 'gateway_workers_left_out',
    type: 'gauge',
    help: 'Workers whose part is missing in this text, because they did not answer within a second. Their counters are as they were at the last scrape.',
    labelNames: [],
    acrossWorkers: 'max',
  },
  workerRestarts: {
    name: 'gateway_worker_restarts_total',
    type: 'counter',
    help: 'How often a worker that had ended by itself, or was stuck for half a minute, was started again.',
    labelNames: [],
  },
} as const satisfies Record<string, MetricDefinition>;
