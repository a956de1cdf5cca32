// Reading, deleting and cancelling a response of POST /v1/responses, and listing its input items. One
// that the gateway keeps it answers itself; for one that a provider keeps it asks there. None of it is counted by rate limits.

import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { Budgets } from '../budgets/budgets.ts';
import { writeJson } from '../dialects/json/json.ts';
import { deletedResponse, listInputItems, type StoredResponse } from '../dialects/responses/stored-response.ts';
import { InvalidRequest } from '../dialects/translation.ts';
import { Refusal, refusal } from '../errors.ts';
import type { ResponseHome } from '../kept/kept-responses.ts';
import { ownerOf } from '../kept/owner.ts';
import { askHome, type HomeAnswer, type HomeParts, type HomeQuestion } from '../kept/responses/ask-home.ts';
import type { FoundResponse, StoredResponses } from '../kept/responses/stored-responses.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Records } from '../records/records.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { chargeBackground } from '../stages/charge/charge-background.ts';

type ResponseRequest = FastifyRequest<{ Params: { id: string } }>;

/** All that a query may say; a provider is told nothing else. */
const parameters = [
  'include',
  'include[]',
  'include_obfuscation',
  'starting_after',
  'stream',
  'after',
  'limit',
  'order',
];
const wholeNumber = /^\d{1,15}$/;

export interface ResponseParts extends Pick<HomeParts, 'deadlines' | 'pools' | 'nowMs'> {
  readonly budgets: Budgets;
  /** The snapshot in force; a request asks once. */
  readonly current: () => Snapshot;
  readonly limiter: Limiter;
  /** The records for audit and usage. */
  readonly records: Records;
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
  /** Those that the gateway keeps, and where providers keep others. */
  readonly storedResponses: StoredResponses;
}

export const responses: FastifyPluginAsync<{ gateway: ResponseParts }> = async (app, { gateway }) => {
  const { storedResponses, pools, deadlines } = gateway;
  const nowMs = (): number => gateway.nowMs();

  async function find({ params: { id }, principal }: ResponseRequest): Promise<FoundResponse> {
    const found = await storedResponses.find(id, ownerOf(principal));
    if (found === undefined) throw notFound(id);
    return found;
  }

  async function ask(
    home: ResponseHome,
    { params: { id }, raw, requestId, exchange, principal }: ResponseRequest,
    { method, path, query }: Pick<HomeQuestion, 'method' | 'path' | 'query'>,
  ): Promise<HomeAnswer> {
    const asking = exchange ?? { head: { gatewayKey: undefined }, request: raw };
    const question = { method, path: `/${id}${path}`, query, requestId, exchange: asking };
    const answer = await askHome(home, question, { snapshot: gateway.current(), pools, deadlines, nowMs });
    if (answer === undefined) throw notFound(id);
    if (exchange !== undefined && tellsResponse(method, path))
      await chargeBackground({ id, home, answer, path: '/v1/responses/:id', exchange, principal }, gateway);
    return answer;
  }

  app.get<{ Params: { id: string } }>('/v1/responses/:id', async (request, reply) => {
    const query = queryOf(request);
    checkQuery(query, request.params.id);
    const { record, home } = await find(request);
    if (home === undefined) return sendJson(reply, writeJson(record.response));
    return relay(reply, await ask(home, request, { method: 'GET', path: '', query }));
  });

  app.get<{ Params: { id: string } }>('/v1/responses/:id/input_items', async (request, reply) => {
    const query = queryOf(request);
    const { record, home } = await find(request);
    if (home === undefined) return sendJson(reply, itemsOf(record, query));
    return relay(reply, await ask(home, request, { method: 'GET', path: '/input_items', query }));
  });

  app.delete<{ Params: { id: string } }>('/v1/responses/:id', async (request, reply) => {
    const { id } = request.params;
    const { home } = await find(request);
    const deletion = { method: 'DELETE', path: '', query: new URLSearchParams() } as const;
    const forget = (): Promise<void> => storedResponses.forget(id, ownerOf(request.principal));
    const answer = home && (await ask(home, request, deletion).catch(unlessGone(forget)));
    await forget();
    return sendJson(reply.headers(answer?.told ?? {}), writeJson(deletedResponse(id)));
  });

  app.post<{ Params: { id: string } }>('/v1/responses/:id/cancel', async (request, reply) => {
    const { id } = request.params;
    const { home } = await find(request);
    if (home !== undefined) {
      return relay(reply, await ask(home, request, { method: 'POST', path: '/cancel', query: new URLSearchParams() }));
    }
    const because = 'it is complete, and only a response in the background can be';
    throw refusal('unsupported_response_operation', { fill: { id, what: 'cancelled', because } });
  });
};

function tellsResponse(method: string, path: string): boolean {
  return method !== 'DELETE' && path !== '/input_items';
}

function notFound(id: string): Error {
  return refusal('response_not_found', { fill: { id } });
}

/** Rejects with the same; what the provider no longer has is forgotten first. */
function unlessGone(forget: () => Promise<void>): (error: unknown) => Promise<never> {
  return async (error) => {
    if (error instanceof Refusal && error.status === 404) await forget();
    throw error;
  };
}

/** The parameters that there are; any other is left out. */
function queryOf({ raw: { url = '' } }: FastifyRequest): URLSearchParams {
  const given = new URLSearchParams(url.slice(url.indexOf('?') + 1 || url.length));
  return new URLSearchParams([...given].filter(([name]) => parameters.includes(name)));
}

/** Throws 400 for what cannot be had, and for values that make no sense. */
function checkQuery(query: URLSearchParams, id: string): void {
  for (const name of ['stream', 'include_obfuscation']) {
    if (!['true', 'false', null].includes(query.get(name))) throw invalidQuery(name, 'must be true or false');
  }
  if (query.get('stream') === 'true') {
    const because = 'streams cannot be taken up again; leave "stream" out';
    throw refusal('unsupported_response_operation', { param: 'stream', fill: { id, what: 'streamed', because } });
  }
  const after = query.get('starting_after');
  if (after !== null && !wholeNumber.test(after)) throw invalidQuery('starting_after', 'must be a whole number');
}

function invalidQuery(name: string, problem: string): Error {
  return refusal('invalid_query', { param: name, fill: { name, problem } });
}

function itemsOf(record: StoredResponse, query: URLSearchParams): string {
  try {
    return writeJson(listInputItems(record, query));
  } catch (error) {
    if (error instanceof InvalidRequest) throw invalidQuery(error.param, error.message);
    throw error;
  }
}

function sendJson(reply: FastifyReply, json: string | Buffer): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(json);
}

function relay(reply: FastifyReply, { status, body, told }: HomeAnswer): FastifyReply {
  return sendJson(reply.code(status).headers(told), body);
}
