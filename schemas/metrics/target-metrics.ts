// The metrics of targets: what balancing remembers of each.
import type { MetricDefinition } from './limit-metrics.ts';

export const targetMetrics = {
  targetBreaker: {
    name: 'gateway_target_breaker_state',
    type: 'gauge',
    help: 'The circuit breaker of a model at a provider: 0 closed, 1 half-open (the next request is a probe), 2 open (others are asked first).',
    labelNames: ['provider', 'model'],
    acrossWorkers: 'max',
  },
  targetBreakerTransitions: {
    name: 'gateway_target_breaker_transitions_total',
    type: 'counter',
    help: 'How often the circuit breaker of a model at a provider became open, half_open (a probe began) or closed.',
    labelNames: ['provider', 'model', 'to'],
  },
  targetResting: {
    name: 'gateway_target_resting',
    type: 'gauge',
    help: '1 while a model at a provider is asked last because the provider said so (429 or 503, Retry-After).',
    labelNames: ['provider', 'model'],
    acrossWorkers: 'max',
  },
  targetDrained: {
    name: 'gateway_target_drained',
    type: 'gauge',
    help: '1 while an operator has taken a model at a provider out; no new call goes there. Absent otherwise. Model empty: all that the provider is asked for.',
    labelNames: ['provider', 'model'],
    acrossWorkers: 'max',
  },
  targetQuotaRemaining: {
    name: 'gateway_target_quota_remaining',
    type: 'gauge',
    help: 'What the rate limits of a provider leave for a model, as its last answers said, by dimension: requests, tokens, input_tokens, output_tokens.',
    labelNames: ['provider', 'model', 'dimension'],
    acrossWorkers: 'min',
  },
  targetQuotaUsed: {
    name: 'gateway_target_quota_used_ratio',
    type: 'gauge',
    help: 'How much of the tightest rate limit of a provider a model has used, from 0 to 1, as its last answers said.',
    labelNames: ['provider', 'model'],
    acrossWorkers: 'max',
  },
  targetFirstByte: {
    name: 'gateway_target_first_byte_seconds',
    type: 'gauge',
    help: 'Time to the first byte that balancing goes by, by statistic: mean (of the last ten seconds or so), p95 (of the last 200 to 400 whole answers) and p95_stream (of as many streams): after that time an alias with hedge asks a second target.',
    labelNames: ['provider', 'model', 'statistic'],
    acrossWorkers: 'max',
  },
} as const satisfies Record<string, MetricDefinition>;
