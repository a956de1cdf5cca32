// GET /v1/models and GET /v1/models/{id}: what a client may ask for, aliases included (spec: What the service does 3 and 4).
import type { FastifyPluginAsync } from 'fastify';
import { onlyPath } from '../../domain/conditions/facts.ts';
import type { ModelFacts } from '../../domain/models/model-facts.ts';
import { refusal } from '../errors.ts';
import { speaksAnthropic } from '../http/error-format.ts';
import { inSlices, type Slices } from '../pacing/slices.ts';
import { modelEntry } from '../snapshot/route-table.ts';
import type { ModelEntry, Route, Routes, Snapshot, Target } from '../snapshot/snapshot.ts';
import type { Principal } from '../stages/authenticate.ts';
import { grantedPart, visibleRoute } from '../stages/resolve.ts';
import { anthropicModel, pageOf, type Query } from './anthropic-models.ts';
import { type Capabilities, capabilitiesOf } from './capabilities.ts';
import { factsOf } from './facts-of.ts';

/** `schemas/model-api/model.schema.json`, as OpenAI has it, and more. */
interface DescribedModel extends ModelEntry, ModelFacts {
  readonly capabilities: Capabilities;
}

/** The answer for those who may use everything. */
const wholeLists = new WeakMap<Routes, Buffer>();
/** Models that are described in one step. */
const stepModels = 500;

export interface ModelListParts {
  /** The snapshot in force; a request asks once. */
  readonly current: () => Snapshot;
}

/**
 * Ids contain slashes, so the id is all of the path's rest; a bare id finds the model it resolves to. What the caller's key may not use
 * is not there, nor are aliases of other user paths. Clients of Anthropic get their own format, and pages.
 */
export const models: FastifyPluginAsync<{ gateway: ModelListParts }> = async (app, { gateway }) => {
  app.get<{ Querystring: Query }>('/v1/models', async ({ principal, query, raw }, reply) => {
    const snapshot = gateway.current();
    const isWhole = principal.allowedModels === undefined && !snapshot.hidesAliases;
    if (speaksAnthropic('/v1/models', raw)) {
      const list = await inSlices(isWhole ? snapshot.routes.entries() : listed(snapshot, principal));
      const page = pageOf(list, query);
      return reply.send({
        ...page,
        data: page.data.map((model) => ({ ...model, ...factsFor(model.id, snapshot, principal) })),
      });
    }
    if (isWhole) return reply.type('application/json; charset=utf-8').send(await inSlices(wholeList(snapshot)));
    return reply.send({ object: 'list', data: await inSlices(listed(snapshot, principal)) });
  });

  app.get<{ Params: { '*': string } }>('/v1/models/*', ({ params, principal, raw }) => {
    const id = params['*'];
    if (id === '') throw refusal('route_not_found', { fill: { method: 'GET', path: '/v1/models/' } });
    const entry = entryOf(id, gateway.current(), principal)?.entry;
    if (entry === undefined) throw refusal('model_not_found', { param: 'model', fill: { model: id } });
    if (!speaksAnthropic('/v1/models', raw)) return entry;
    return { ...anthropicModel(entry), ...factsFor(id, gateway.current(), principal) };
  });
};

/** Made when it is first asked for, and again with another configuration: there may be thousands of models. */
function* wholeList({ routes }: Snapshot): Slices<Buffer> {
  const known = wholeLists.get(routes);
  if (known !== undefined) return known;
  const data: DescribedModel[] = [];
  for (const entry of yield* routes.entries()) {
    data.push(described(entry, routes.get(entry.id)?.targets ?? []));
    if (data.length % stepModels === 0) yield;
  }
  const list = Buffer.from(JSON.stringify({ object: 'list', data }));
  wholeLists.set(routes, list);
  return list;
}

function* listed(snapshot: Snapshot, asker: Principal): Slices<readonly DescribedModel[]> {
  const data: DescribedModel[] = [];
  let count = 0;
  for (const { id } of yield* snapshot.routes.entries()) {
    count += 1;
    if (count % stepModels === 0) yield;
    const found = entryOf(id, snapshot, asker);
    if (found?.isListed === true) data.push(found.entry);
  }
  return data;
}

/** The model as the caller may see it: by the targets that it may use, owned by the first. Undefined when there is none. */
function entryOf(
  id: string,
  snapshot: Snapshot,
  asker: Principal,
): { entry: DescribedModel; isListed: boolean } | undefined {
  const usable = usableRoute(id, snapshot, asker);
  return usable && { entry: described(modelEntry(id, usable.targets), usable.targets), isListed: usable.isListed };
}

function factsFor(id: string, snapshot: Snapshot, asker: Principal): ModelFacts {
  return factsOf(usableRoute(id, snapshot, asker)?.targets ?? []);
}

function usableRoute(
  id: string,
  snapshot: Snapshot,
  { userPath, allowedModels: access }: Principal,
): Route | undefined {
  const route = visibleRoute(snapshot, id, onlyPath(userPath));
  return route === undefined || access === undefined ? route : grantedPart(route, id, access, snapshot.providers);
}

function described(entry: ModelEntry, targets: readonly Target[]): DescribedModel {
  return { ...entry, capabilities: capabilitiesOf(targets), ...factsOf(targets) };
}
