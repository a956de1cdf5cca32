// The metrics of sessions over WebSocket.
import type { MetricDefinition } from './limit-metrics.ts';

export const sessionMetrics = {
  sessionsOpen: {
    name: 'gateway_realtime_sessions',
    type: 'gauge',
    help: 'Realtime sessions that are open or being opened at this moment.',
    labelNames: [],
  },
  sessionsEnded: {
    name: 'gateway_realtime_sessions_ended_total',
    type: 'counter',
    help: 'Realtime sessions that have ended, by reason: client or provider (it closed), client_lost or provider_lost (its connection broke, or it answered no ping), too_large (a message beyond server.realtime.frame_limit), protocol (bytes that are not WebSocket), message_timeout (a message was not complete within server.realtime.message_timeout), overloaded (messages did not fit into server.body_budget), key_revoked (revoked or expired), session_max, draining (the process ended).',
    labelNames: ['reason'],
  },
} as const satisfies Record<string, MetricDefinition>;
