// GET /health (the process lives), GET /health/ready (send it traffic), GET /metrics (unless it has a port of its own). No key is
// needed, so no answer holds a secret.

import type { FastifyPluginAsync } from 'fastify';
import type { Metrics } from '../metrics/metrics.ts';
import type { Readiness } from '../readiness.ts';

export interface HealthParts {
  /** /metrics is served on a port of its own (GATEWAY_METRICS_PORT), not on the public one. */
  readonly isMetricsApart: boolean;
  readonly metrics: Metrics;
  readonly readiness: () => Readiness;
}

export const health: FastifyPluginAsync<{ gateway: HealthParts }> = async (app, { gateway }) => {
  app.get('/health', () => ({ status: 'ok' }));

  app.get('/health/ready', (_, reply) => {
    const readiness = gateway.readiness();
    const serving = readiness.status === 'ready' || readiness.status === 'degraded';
    return reply.code(serving ? 200 : 503).send(readiness);
  });

  if (gateway.isMetricsApart) return;
  app.get('/metrics', async (_, reply) => reply.type(gateway.metrics.contentType).send(await gateway.metrics.text()));
};
