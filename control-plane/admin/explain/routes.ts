// The routes that a proxy answers itself: the control plane has no live counters, no breakers and no compiled guardrails, so it points to one.
import type { FastifyPluginAsync } from 'fastify';
import { refusal } from '../../errors.ts';

/** A proxy answers these paths itself; only a request to the control plane's own address comes here. */
export const explainRoutes: FastifyPluginAsync = async (app) => {
  app.get('/admin/explain', async () => {
    throw refusal('answered_by_proxies', { fill: { path: '/admin/explain' } });
  });

  app.get('/admin/explain/:id', async () => {
    throw refusal('answered_by_proxies', { fill: { path: '/admin/explain/{id}' } });
  });

  app.post('/admin/guardrails/test', async () => {
    throw refusal('answered_by_proxies', { fill: { path: '/admin/guardrails/test' } });
  });
};
