// GET /health (the process lives), GET /health/ready (send it traffic), GET /metrics (unless it has a port of its own). No key is
// needed, so no answer holds a secret.
import type { FastifyPluginAsync } from 'fastify';
import type { Gateway } from '../gateway.ts';

export const health: FastifyPluginAsync<{ gateway: Gateway }> = async (app, { gateway }) => {
  app.get('/health', () => ({ status: 'ok' }));

  app.get('/health/ready', (_, reply) => {
    const readiness = gateway.readiness();
    const serving = readiness.status === 'ready' || readiness.status === 'degraded';
    return reply.code(serving ? 200 : 503).send(readiness);
  });

  if (gateway.isMetricsApart) return;
  app.get('/metrics', async (_, reply) => reply.type(gateway.metrics.contentType).send(await gateway.metrics.text()));
};
