// The metrics of the proxy about tokens of identity providers (identities): names, labels, help.
import type { MetricDefinition } from './limit-metrics.ts';

export const tokenMetrics = {
  tokensJudged: {
    name: 'gateway_identity_tokens_total',
    type: 'counter',
    help: 'Tokens of an identity that were checked, because they were not remembered, by outcome: ok, unavailable (the keys of the issuer are not known), overloaded (too many at a time), or the check that failed: form, alg, kid, signature, aud, exp, nbf, sub, deny, required_claims, user_path, labels, allowed_models, dashboard.',
    labelNames: ['identity', 'outcome'],
  },
  tokensRemembered: {
    name: 'gateway_identity_tokens_remembered',
    type: 'gauge',
    help: 'Tokens that are remembered until their end; at most 20,000 in each process.',
    labelNames: [],
    acrossWorkers: 'sum',
  },
  issuerKeys: {
    name: 'gateway_identity_keys',
    type: 'gauge',
    help: 'Public keys of the issuer of an identity that tokens are checked with. 0: its tokens are answered 503, because it was never reached, or longer ago than keys_kept_for.',
    labelNames: ['identity'],
    acrossWorkers: 'min',
  },
  issuerKeysAge: {
    name: 'gateway_identity_keys_age_seconds',
    type: 'gauge',
    help: 'Time since the keys of the issuer of an identity were fetched. Absent: never. It stays below 600 while the issuer answers.',
    labelNames: ['identity'],
    acrossWorkers: 'max',
  },
} as const satisfies Record<string, MetricDefinition>;
