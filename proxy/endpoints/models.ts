// GET /v1/models and GET /v1/models/{id}: what a client may ask for, aliases included (spec: What the service does 3 and 4).
import type { FastifyPluginAsync } from 'fastify';
import { speaksAnthropic } from '../connection/error-format.ts';
import { refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { modelEntry } from '../snapshot/compile-routes.ts';
import type { ModelEntry, Snapshot } from '../snapshot/snapshot.ts';
import type { Principal } from '../stages/authenticate.ts';
import { grantedPart, visibleRoute } from '../stages/resolve.ts';
import { anthropicModel, pageOf, type Query } from './anthropic-models.ts';

/**
 * Ids contain slashes, so the id is all of the path's rest; a bare id finds the model it resolves to. What the caller's key may not use
 * is not there, nor are aliases of other user paths. Clients of Anthropic get their own format, and pages.
 */
export const models: FastifyPluginAsync<{ gateway: Gateway }> = async (app, { gateway }) => {
  app.get<{ Querystring: Query }>('/v1/models', ({ principal, query, raw }) => {
    const data = listed(gateway.current(), principal);
    return speaksAnthropic('/v1/models', raw) ? pageOf(data, query) : { object: 'list', data };
  });

  app.get<{ Params: { '*': string } }>('/v1/models/*', ({ params, principal, raw }) => {
    const id = params['*'];
    if (id === '') throw refusal('route_not_found', { fill: { method: 'GET', path: '/v1/models/' } });
    const entry = entryOf(id, gateway.current(), principal)?.entry;
    if (entry === undefined) throw refusal('model_not_found', { param: 'model', fill: { model: id } });
    return speaksAnthropic('/v1/models', raw) ? anthropicModel(entry) : entry;
  });
};

function listed(snapshot: Snapshot, asker: Principal): readonly ModelEntry[] {
  if (asker.allowedModels === undefined && !snapshot.hidesAliases) return snapshot.models;
  return snapshot.models.flatMap(({ id }) => {
    const found = entryOf(id, snapshot, asker);
    return found?.isListed === true ? [found.entry] : [];
  });
}

/** The model as the caller may see it: owned by the first target it may use. Undefined when there is none. */
function entryOf(
  id: string,
  snapshot: Snapshot,
  { userPath, allowedModels: access }: Principal,
): { entry: ModelEntry; isListed: boolean } | undefined {
  const route = visibleRoute(snapshot, id, userPath);
  const usable =
    route === undefined || access === undefined ? route : grantedPart(route, id, access, snapshot.providers);
  return usable && { entry: modelEntry(id, usable.targets), isListed: usable.isListed };
}
