// The metrics of the proxy about cloud identities of providers: names, labels, help.
import type { MetricDefinition } from './limit-metrics.ts';

export const identityMetrics = {
  identityRenewals: {
    name: 'gateway_cloud_identity_renewals_total',
    type: 'counter',
    help: 'Questions of this proxy for a new credential of a provider with a cloud identity (auth), by outcome: renewed, failed. Those for sessions with tags of callers are among them.',
    labelNames: ['provider', 'outcome'],
  },
  identityExpiry: {
    name: 'gateway_cloud_identity_expiry_timestamp_seconds',
    type: 'gauge',
    help: 'Unix time at which the credential of a provider with a cloud identity ends; 0: there was none yet. Absent for one without an end.',
    labelNames: ['provider'],
    acrossWorkers: 'min',
  },
  identityValid: {
    name: 'gateway_cloud_identity_valid',
    type: 'gauge',
    help: '1 while the credential of a provider with a cloud identity holds. 0: no request is sent to it.',
    labelNames: ['provider'],
    acrossWorkers: 'min',
  },
} as const satisfies Record<string, MetricDefinition>;
