// The metrics of the proxy about budgets: names, labels, help.
import type { MetricDefinition } from './limit-metrics.ts';

export const budgetMetrics = {
  budgetDecisions: {
    name: 'gateway_budget_decisions_total',
    type: 'counter',
    help: 'Requests that met a budget that is used up, by budget id (the first 250; the others are added up as other) and outcome: reject (429), shadow_reject (would have been refused).',
    labelNames: ['budget', 'outcome'],
  },
  budgetVerdicts: {
    name: 'gateway_budget_verdicts',
    type: 'gauge',
    help: 'Subjects that have used up a budget, as the control plane last told this proxy.',
    labelNames: [],
  },
} as const satisfies Record<string, MetricDefinition>;
