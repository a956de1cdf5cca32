// GET /v1/models and GET /v1/models/{id}: what a client may ask for, aliases included (spec: What the service does 3 and 4).
import type { FastifyPluginAsync } from 'fastify';
import { refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';

/** Ids contain slashes, so the id is all of the path's rest; a bare id finds the model it resolves to. */
export const models: FastifyPluginAsync<{ gateway: Gateway }> = async (app, { gateway }) => {
  app.get('/v1/models', () => ({ object: 'list', data: gateway.current().models }));

  app.get<{ Params: { '*': string } }>('/v1/models/*', ({ params }) => {
    const id = params['*'];
    if (id === '') throw refusal('route_not_found', { fill: { method: 'GET', path: '/v1/models/' } });
    const snapshot = gateway.current();
    const listed = snapshot.models.find((model) => model.id === id);
    if (listed) return listed;
    const target = snapshot.routes.get(id)?.targets[0];
    if (target === undefined) throw refusal('model_not_found', { param: 'model', fill: { model: id } });
    return { id, object: 'model', created: 0, owned_by: target.upstream.name };
  });
};
