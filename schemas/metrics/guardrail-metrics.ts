// The metric of the proxy about guardrails: name, labels, help.
import type { MetricDefinition } from './limit-metrics.ts';

export const guardrailMetrics = {
  guardrailVerdicts: {
    name: 'gateway_guardrail_verdicts_total',
    type: 'counter',
    help: 'Requests that a guardrail looked at, by its name (other: no longer configured), phase (input, output) and outcome: pass, flag, revise, block, failed (there was no verdict); with shadow_ in front where the guardrail is not enforced.',
    labelNames: ['guardrail', 'phase', 'outcome'],
  },
} as const satisfies Record<string, MetricDefinition>;
