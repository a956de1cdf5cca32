// GET /v1/models and GET /v1/models/{id}: what a client may ask for, aliases included (spec: What the service does 3 and 4).
import type { FastifyPluginAsync } from 'fastify';
import type { ModelAccess } from '../../schemas/keys/model-access.ts';
import { refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { ModelEntry, Snapshot } from '../snapshot/snapshot.ts';
import { grantedPart } from '../stages/resolve.ts';

/**
 * Ids contain slashes, so the id is all of the path's rest; a bare id finds the model it resolves to. What the caller's key may not use
 * is not there.
 */
export const models: FastifyPluginAsync<{ gateway: Gateway }> = async (app, { gateway }) => {
  app.get('/v1/models', ({ principal }) => {
    const snapshot = gateway.current();
    return { object: 'list', data: listed(snapshot, principal.allowedModels) };
  });

  app.get<{ Params: { '*': string } }>('/v1/models/*', ({ params, principal }) => {
    const id = params['*'];
    if (id === '') throw refusal('route_not_found', { fill: { method: 'GET', path: '/v1/models/' } });
    const entry = entryOf(id, gateway.current(), principal.allowedModels);
    if (entry === undefined) throw refusal('model_not_found', { param: 'model', fill: { model: id } });
    return entry;
  });
};

function listed(snapshot: Snapshot, access: ModelAccess | undefined): readonly ModelEntry[] {
  if (access === undefined) return snapshot.models;
  return snapshot.models.flatMap(({ id }) => entryOf(id, snapshot, access) ?? []);
}

/** The model as the caller may see it: owned by the first target it may use. Undefined when there is none. */
function entryOf(id: string, { routes, providers }: Snapshot, access: ModelAccess | undefined): ModelEntry | undefined {
  const route = routes.get(id);
  const usable = route === undefined || access === undefined ? route : grantedPart(route, id, access, providers);
  const target = usable?.targets[0];
  return target && { id, object: 'model', created: 0, owned_by: target.upstream.name };
}
