// GET /v1/models and GET /v1/models/{id}: what a client may ask for, aliases included (spec: What the service does 3 and 4).
import type { FastifyPluginAsync } from 'fastify';
import { refusal } from '../errors.ts';
import { speaksAnthropic } from '../http/error-format.ts';
import { modelEntry } from '../snapshot/compile-routes.ts';
import type { ModelEntry, Snapshot, Target } from '../snapshot/snapshot.ts';
import type { Principal } from '../stages/authenticate.ts';
import { grantedPart, visibleRoute } from '../stages/resolve.ts';
import { anthropicModel, pageOf, type Query } from './anthropic-models.ts';
import { type Capabilities, capabilitiesOf } from './capabilities.ts';

/** `schemas/model-api/model.schema.json`, as OpenAI has it, and more. */
interface DescribedModel extends ModelEntry {
  readonly capabilities: Capabilities;
}

/** By the models of a snapshot: the answer for those who may use everything. */
const wholeLists = new WeakMap<Snapshot['models'], Buffer>();

/** What it needs. */
export interface ModelListParts {
  /** The snapshot in force; a request asks once. */
  readonly current: () => Snapshot;
}

/**
 * Ids contain slashes, so the id is all of the path's rest; a bare id finds the model it resolves to. What the caller's key may not use
 * is not there, nor are aliases of other user paths. Clients of Anthropic get their own format, and pages.
 */
export const models: FastifyPluginAsync<{ gateway: ModelListParts }> = async (app, { gateway }) => {
  app.get<{ Querystring: Query }>('/v1/models', ({ principal, query, raw }, reply) => {
    const snapshot = gateway.current();
    const isWhole = principal.allowedModels === undefined && !snapshot.hidesAliases;
    if (speaksAnthropic('/v1/models', raw)) {
      return reply.send(pageOf(isWhole ? snapshot.models : listed(snapshot, principal), query));
    }
    if (isWhole) return reply.type('application/json; charset=utf-8').send(wholeList(snapshot));
    return reply.send({ object: 'list', data: listed(snapshot, principal) });
  });

  app.get<{ Params: { '*': string } }>('/v1/models/*', ({ params, principal, raw }) => {
    const id = params['*'];
    if (id === '') throw refusal('route_not_found', { fill: { method: 'GET', path: '/v1/models/' } });
    const entry = entryOf(id, gateway.current(), principal)?.entry;
    if (entry === undefined) throw refusal('model_not_found', { param: 'model', fill: { model: id } });
    return speaksAnthropic('/v1/models', raw) ? anthropicModel(entry) : entry;
  });
};

/** Made when it is first asked for, and again with another configuration: there may be thousands of models. */
function wholeList({ models: entries, routes }: Snapshot): Buffer {
  let list = wholeLists.get(entries);
  if (list === undefined) {
    const data = entries.map((entry) => described(entry, routes.get(entry.id)?.targets ?? []));
    list = Buffer.from(JSON.stringify({ object: 'list', data }));
    wholeLists.set(entries, list);
  }
  return list;
}

function listed(snapshot: Snapshot, asker: Principal): readonly DescribedModel[] {
  return snapshot.models.flatMap(({ id }) => {
    const found = entryOf(id, snapshot, asker);
    return found?.isListed === true ? [found.entry] : [];
  });
}

/** The model as the caller may see it: by the targets that it may use, owned by the first. Undefined when there is none. */
function entryOf(
  id: string,
  snapshot: Snapshot,
  { userPath, allowedModels: access }: Principal,
): { entry: DescribedModel; isListed: boolean } | undefined {
  const route = visibleRoute(snapshot, id, userPath);
  const usable =
    route === undefined || access === undefined ? route : grantedPart(route, id, access, snapshot.providers);
  return usable && { entry: described(modelEntry(id, usable.targets), usable.targets), isListed: usable.isListed };
}

function described(entry: ModelEntry, targets: readonly Target[]): DescribedModel {
  return { ...entry, capabilities: capabilitiesOf(targets) };
}
