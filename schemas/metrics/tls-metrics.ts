// The metrics of a listener with TLS, the same in both planes. Without TLS they have no samples.
import type { MetricDefinition } from './limit-metrics.ts';

export const tlsMetrics = {
  certificateNotAfter: {
    name: 'gateway_tls_certificate_not_after',
    type: 'gauge',
    help: 'When the certificate of the listener ends, or the first one of its chain, in seconds since 1970. Absent without TLS.',
    labelNames: [],
    acrossWorkers: 'min',
  },
  handshakes: {
    name: 'gateway_tls_handshakes_total',
    type: 'counter',
    help: 'Connections by outcome of their TLS handshake: completed, plain_http (the client spoke HTTP without TLS), no_tls (neither), timeout (10 s), displaced (the oldest of too many), client_certificate (none, or one that cannot be verified, where one is required), refused_by_client (it does not trust the certificate), failed (TLS could not be agreed on), left (the client has closed).',
    labelNames: ['outcome'],
  },
  handshakesOpen: {
    name: 'gateway_tls_handshakes_open',
    type: 'gauge',
    help: 'Connections whose TLS handshake is not over; at most 512.',
    labelNames: [],
    acrossWorkers: 'sum',
  },
} as const satisfies Record<string, MetricDefinition>;
