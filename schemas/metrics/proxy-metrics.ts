// The metrics of the proxy, without those of the rate limiter: names, labels, help. Every label has a bounded number of values.
import { budgetMetrics } from './budget-metrics.ts';
import { cacheMetrics } from './cache-metrics.ts';
import { discoveryMetrics } from './discovery-metrics.ts';
import { guardrailMetrics } from './guardrail-metrics.ts';
import { journalMetrics } from './journal-metrics.ts';
import {
  authFailuresMetric,
  buildMetric,
  logEventsDroppedMetric,
  type MetricDefinition,
  secretFilesMetric,
  skippedMetric,
} from './limit-metrics.ts';
import { sessionMetrics } from './session-metrics.ts';
import { spanMetrics } from './span-metrics.ts';
import { targetMetrics } from './target-metrics.ts';

/** Upper bounds of durations, in seconds: an answer in half a second and one in ten minutes are both told from their neighbours. */
const durationBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 6, 8, 10, 15, 20, 30, 60, 120, 300, 600,
];

export const proxyMetrics = {
  build: buildMetric,
  ready: {
    name: 'gateway_ready',
    type: 'gauge',
    help: '1 while /health/ready answers 200 (ready or degraded); 0 while the proxy starts, drains or is overloaded.',
    labelNames: [],
  },
  overloaded: {
    name: 'gateway_overloaded',
    type: 'gauge',
    help: '1 while memory is short and requests are refused with 503.',
    labelNames: [],
  },
  controlPlaneUp: {
    name: 'gateway_control_plane_up',
    type: 'gauge',
    help: '1 while the control plane answers this proxy.',
    labelNames: [],
  },
  requests: {
    name: 'gateway_requests_total',
    type: 'counter',
    help: 'Model requests by endpoint, provider that answered (empty: none; other: no longer configured) and status: what the client got, the error that broke its answer off, or 499 when it left.',
    labelNames: ['endpoint', 'provider', 'status'],
  },
  httpRequests: {
    name: 'gateway_http_requests_total',
    type: 'counter',
    help: 'All requests by trip (model, admin, other; none: refused before it had one) and status as for model requests.',
    labelNames: ['trip', 'status'],
  },
  duration: {
    name: 'gateway_request_duration_seconds',
    type: 'histogram',
    help: 'Time from the head of a model request to the last byte of its answer, by endpoint, provider as for gateway_requests_total, and whether a stream was asked for.',
    labelNames: ['endpoint', 'provider', 'stream'],
    buckets: durationBuckets,
  },
  upstreamAttempts: {
    name: 'gateway_upstream_attempts_total',
    type: 'counter',
    help: 'Calls of providers by the model that was asked for there and by outcome: success, unauthorized (401, and a 403 that speaks of it: the provider refuses the key of the gateway), rate_limited (429), client_error (other 4xx), server_error (5xx), timeout, unreachable, invalid_response, cut (broke off), outrun (another target, asked beside it, was faster), cancelled (the client left, its key was revoked, or the gateway itself failed). A request that fails over has several. Provider or model other: no longer configured; model other: a request passed on as it is that names none, or one that is not configured.',
    labelNames: ['provider', 'model', 'outcome'],
  },
  upstreamDuration: {
    name: 'gateway_upstream_duration_seconds',
    type: 'histogram',
    help: 'Time from asking a provider to the last byte of its answer or to its failure; without attempts that did not reach it or were cancelled.',
    labelNames: ['provider'],
    buckets: durationBuckets,
  },
  retries: {
    name: 'gateway_retries_total',
    type: 'counter',
    help: 'Calls of providers beyond the first of a request: failover (another target), retry (the same target again), reconnect (the provider had closed a kept connection, so nothing was sent), hedge (another target, because the first was slow).',
    labelNames: ['kind'],
  },
  retriesRefused: {
    name: 'gateway_retry_budget_exhausted_total',
    type: 'counter',
    help: 'Calls beyond the first that were not made because the retry budget was used up.',
    labelNames: [],
  },
  upstreamFirstByte: {
    name: 'gateway_upstream_first_byte_seconds',
    type: 'histogram',
    help: 'Time from asking a provider to the first bytes of an answer that is relayed; an answer of up to 64 KiB that is no stream is relayed when it is complete.',
    labelNames: ['provider'],
    buckets: durationBuckets,
  },
  tokens: {
    name: 'gateway_tokens_total',
    type: 'counter',
    help: 'Tokens of answers, by provider and model as for attempts, and type: prompt or completion. What a provider did not report is estimated.',
    labelNames: ['provider', 'model', 'type'],
  },
  authFailures: authFailuresMetric,
  inFlight: {
    name: 'gateway_requests_in_flight',
    type: 'gauge',
    help: 'Model requests being served at this moment.',
    labelNames: [],
  },
  bodyBytes: {
    name: 'gateway_request_body_bytes',
    type: 'gauge',
    help: 'Memory that the bodies of open requests take at this moment.',
    labelNames: [],
  },
  bodiesRefused: {
    name: 'gateway_request_bodies_refused_total',
    type: 'counter',
    help: 'Requests refused (503) because their body did not fit into server.body_budget.',
    labelNames: [],
  },
  auxiliaryCalls: {
    name: 'gateway_auxiliary_calls_total',
    type: 'counter',
    help: 'Calls of models that the gateway itself made, by purpose (guardrails, cache) and outcome: answered, refused (by a limit, a budget or its own request: no provider was asked), failed, timeout, cancelled (the answer was no longer needed). They do not count as model requests, but as calls of providers.',
    labelNames: ['purpose', 'outcome'],
  },
  storedResponses: {
    name: 'gateway_stored_responses_total',
    type: 'counter',
    help: 'Responses of POST /v1/responses that were to be stored, by outcome: kept (by the gateway), remembered (its provider keeps it), not_kept (too large, unreadable, or too many at once), failed (the state store could not write it).',
    labelNames: ['outcome'],
  },
  connectionsOpen: {
    name: 'gateway_connections_open',
    type: 'gauge',
    help: 'Connections of clients at this moment.',
    labelNames: [],
  },
  connectionsRefused: {
    name: 'gateway_connections_refused_total',
    type: 'counter',
    help: 'Connections closed when they were opened, by the exceeded setting of server.',
    labelNames: ['reason'],
  },
  connectionsCut: {
    name: 'gateway_connections_cut_total',
    type: 'counter',
    help: 'Connections ended without an answer, by reason: pipelined (too many waiting requests), tiny_chunks (a body in chunks of a few bytes), garbage (endless bytes that are not HTTP), unread (the client read nothing of an answer for write_idle).',
    labelNames: ['reason'],
  },
  configReloads: {
    name: 'gateway_config_reload_total',
    type: 'counter',
    help: 'Config reloads by result. A failure keeps the config in force.',
    labelNames: ['result'],
  },
  configIsGood: {
    name: 'gateway_config_last_reload_successful',
    type: 'gauge',
    help: '1 when the config on disk is in force, 0 when it was rejected and an older one is in force.',
    labelNames: [],
  },
  configLastGood: {
    name: 'gateway_config_last_reload_success_timestamp_seconds',
    type: 'gauge',
    help: 'Unix time at which the config directory was last found good.',
    labelNames: [],
  },
  configInfo: {
    name: 'gateway_config_info',
    type: 'gauge',
    help: 'The config in force and where it came from (directory or last-good); the value is always 1.',
    labelNames: ['revision', 'source'],
  },
  keyFilesUnreadable: {
    name: 'gateway_provider_key_files_unreadable',
    type: 'gauge',
    help: 'Files of keys and certificates of providers that cannot be read now; what was read last stays in force, and a provider without any is left out.',
    labelNames: [],
  },
  providerKeyResting: {
    name: 'gateway_provider_key_resting',
    type: 'gauge',
    help: '1 while an API key of a provider with several rests, because it was refused (401) or rate limited (429); key: its place in the config, from 1.',
    labelNames: ['provider', 'key'],
  },
  stateStoreUp: {
    name: 'gateway_state_store_up',
    type: 'gauge',
    help: '1 when the state store takes what this proxy writes, 0 while counters are kept in memory only.',
    labelNames: [],
  },
  stateSkipped: skippedMetric,
  countersWritten: {
    name: 'gateway_counters_written_timestamp_seconds',
    type: 'gauge',
    help: 'Unix time at which the counters of rate limits were last written to the state store.',
    labelNames: [],
  },
  stateRevision: {
    name: 'gateway_state_revision',
    type: 'gauge',
    help: 'Revision of the managed state (manual rules, keys) in force, and where it came from: store, copy or nothing.',
    labelNames: ['source'],
  },
  stateStoreEmptied: {
    name: 'gateway_state_store_emptied',
    type: 'gauge',
    help: '1 while the state store has lost the managed state that is in force here.',
    labelNames: [],
  },
  stateStoreBehind: {
    name: 'gateway_state_store_behind',
    type: 'gauge',
    help: '1 while the state store says an older state than the one in force here, because it went back.',
    labelNames: [],
  },
  stateStoreEvicts: {
    name: 'gateway_state_store_evicts',
    type: 'gauge',
    help: '1 while the state store may drop rules and keys by itself (maxmemory-policy of Redis).',
    labelNames: [],
  },
  stateWriteBacks: {
    name: 'gateway_state_write_backs_total',
    type: 'counter',
    help: 'How often this process has written the managed state back into a state store that had lost it or went back.',
    labelNames: [],
  },
  accessLogDropped: {
    name: 'gateway_access_log_dropped_total',
    type: 'counter',
    help: 'Lines of the access log that were dropped, because standard output was not read, or is gone; a later line of the log says how many, too.',
    labelNames: [],
  },
  logEventsDropped: logEventsDroppedMetric,
  secretFilesUnusable: secretFilesMetric,
  ...budgetMetrics,
  ...guardrailMetrics,
  ...cacheMetrics,
  ...discoveryMetrics,
  ...journalMetrics,
  ...sessionMetrics,
  ...spanMetrics,
  ...targetMetrics,
} as const satisfies Record<string, MetricDefinition>;
