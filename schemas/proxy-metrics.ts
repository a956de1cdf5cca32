// The metrics of the proxy, without those of the rate limiter: names, labels, help. Every label has a bounded number of values.
import { type MetricDefinition, skippedMetric } from './metrics.ts';

export const proxyMetrics = {
  requests: {
    name: 'gateway_requests_total',
    type: 'counter',
    help: 'Model requests by endpoint, provider that answered (empty: none) and status: what the client got, the error that broke its answer off, or 499 when it left.',
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
    help: 'Time from the head of a model request to the last byte of its answer.',
    labelNames: ['endpoint'],
    buckets: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600],
  },
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
} as const satisfies Record<string, MetricDefinition>;
