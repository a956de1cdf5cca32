// The metrics of a proxy about the secrets of its configuration, which is what providers get: names, labels, help.
import type { MetricDefinition } from './limit-metrics.ts';

export const secretMetrics = {
  keyFilesUnreadable: {
    name: 'gateway_provider_key_files_unreadable',
    type: 'gauge',
    help: 'Files of keys and certificates of providers that cannot be read now; what was read last stays in force, and a provider without any is left out.',
    labelNames: [],
    acrossWorkers: 'max',
  },
  secretAge: {
    name: 'gateway_secret_age_seconds',
    type: 'gauge',
    help: 'How long ago a secret that the configuration refers to was last read from its file or vault; reference: as it is written there, without the secret.',
    labelNames: ['reference'],
    acrossWorkers: 'max',
  },
  secretReferencesUnreadable: {
    name: 'gateway_secret_references_unreadable',
    type: 'gauge',
    help: 'References to secrets that cannot be read now; what was read last stays in force, and a provider without any is left out.',
    labelNames: [],
    acrossWorkers: 'max',
  },
  providerKeyResting: {
    name: 'gateway_provider_key_resting',
    type: 'gauge',
    help: '1 while an API key of a provider with several rests, because it was refused (401) or rate limited (429); key: its place in the config, from 1.',
    labelNames: ['provider', 'key'],
    acrossWorkers: 'max',
  },
  providerKeyRefused: {
    name: 'gateway_provider_key_refused',
    type: 'gauge',
    help: '1 while a provider serves nothing for an API key: its last answer to it was 401, or 402 (its account is used up); key: its place in the config, from 1.',
    labelNames: ['provider', 'key'],
    acrossWorkers: 'max',
  },
} as const satisfies Record<string, MetricDefinition>;
