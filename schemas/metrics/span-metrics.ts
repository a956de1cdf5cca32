// The metrics of the spans that go to an OpenTelemetry collector.
import type { MetricDefinition } from './limit-metrics.ts';

export const spanMetrics = {
  spans: {
    name: 'gateway_spans_total',
    type: 'counter',
    help: 'Spans for OpenTelemetry by outcome: exported, dropped (the queue was full), failed (the collector did not take them).',
    labelNames: ['outcome'],
  },
  spansWaiting: {
    name: 'gateway_spans_waiting',
    type: 'gauge',
    help: 'Spans in the queue for the OpenTelemetry collector.',
    labelNames: [],
  },
} as const satisfies Record<string, MetricDefinition>;
