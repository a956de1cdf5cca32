// The metrics of providers that are asked for their models.
import type { MetricDefinition } from './limit-metrics.ts';

export const discoveryMetrics = {
  discoveryModels: {
    name: 'gateway_discovery_models',
    type: 'gauge',
    help: 'Models of a provider that is asked for them, behind the filters.',
    labelNames: ['provider'],
  },
  discoveryLastSuccess: {
    name: 'gateway_discovery_last_success_timestamp_seconds',
    type: 'gauge',
    help: 'Unix time at which a provider that is asked for its models last said them; 0: never.',
    labelNames: ['provider'],
  },
  discoveryFailures: {
    name: 'gateway_discovery_failures_total',
    type: 'counter',
    help: 'Questions for the models of a provider without a usable answer.',
    labelNames: ['provider'],
  },
} as const satisfies Record<string, MetricDefinition>;
