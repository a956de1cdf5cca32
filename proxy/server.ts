// The proxy's HTTP server. Model requests go straight to the line; Fastify serves every other door.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import { boundAddress } from '../plane/bound-address.ts';
import { forwardAdmin } from './admin/forward.ts';
import { checkPath, isAdminPath, maxHeaders, originForm, pathOf, readHead } from './call/head.ts';
import { fixedHeaders } from './connection/answer-headers.ts';
import { type ConnectionCounts, watchConnections } from './connection/connections.ts';
import { type Exchange, openExchange } from './connection/exchange.ts';
import { type KnownRoute, noRoute } from './connection/known-routes.ts';
import { expectNoBody } from './connection/no-body.ts';
import { answerParseErrors } from './connection/parse-errors.ts';
import { createPipelining } from './connection/pipelining.ts';
import { refuse } from './connection/refuse.ts';
import { watchWriteProgress } from './connection/write-progress.ts';
import { modelEndpoints, plugins, publicPaths } from './endpoints/index.ts';
import { Refusal, refusal } from './errors.ts';
import type { Gateway } from './gateway.ts';
import { serve } from './pipeline.ts';
import type { Snapshot } from './snapshot/snapshot.ts';
import { authenticate, type Principal, refuseForeign } from './stages/authenticate.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; on public paths nobody in particular. */
    principal: Principal;
  }
}

/** A request on its way to Fastify. */
interface Visit {
  readonly exchange: Exchange;
  principal: Principal;
}

const nobody: Principal = { kind: 'anonymous', keyId: undefined, userPath: '/', allowedModels: undefined };

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** The running server. */
export interface ProxyServer {
  /** Starts listening; resolves with the address it is bound to, such as http://0.0.0.0:8080. Rejects when the port is taken. */
  listen(host: string, port: number): Promise<string>;
  /** Puts the client-side timeouts and the limits of connections of a snapshot in force. */
  apply(snapshot: Pick<Snapshot, 'timeouts' | 'connections'>): void;
  /** Closes the listener and resolves when every open request was answered, or after `graceMs`, when the rest is cut. */
  drain(graceMs: number): Promise<void>;
  /** Requests being served at this moment. */
  openRequests(): number;
  /** What is counted of connections. */
  connections(): ConnectionCounts;
}

/** Where requests go that are not the line's. */
interface Rest {
  /** Fastify. */
  handler: Handler;
  /** The routes of Fastify and of the line. */
  readonly known: KnownRoute[];
  readonly visits: WeakMap<IncomingMessage, Visit>;
  readonly answer: (exchange: Exchange, thrown: unknown) => void;
}

/** Longest request line with headers. Bytes. */
const maxHeaderBytes = 16 * 1024;
/** Connections that the system may hold until they are taken: as many as its own bound (net.core.somaxconn) allows as a rule. */
const backlog = 4096;
/** How long a connection may stay idle between requests. Milliseconds. */
const keepAliveMs = 72_000;
/** How often client-side timeouts are looked at. Milliseconds. */
const timeoutCheckMs = 100;

/** What Fastify's answers have besides their own headers. */
const fixedEntries = Object.entries(fixedHeaders);

const doors = new Map(modelEndpoints.map((endpoint) => [endpoint.path, endpoint]));
/** Builds the server around a gateway. */
export async function createProxyServer(gateway: Gateway): Promise<ProxyServer> {
  let writeIdleMs = Number.POSITIVE_INFINITY;

  /** Not even an error can be answered: a client must not wait for one. */
  const giveUp = (exchange: Exchange, error: unknown): void => {
    gateway.reportFailure(error, exchange.id);
    exchange.response.destroy();
  };
  const answer = (exchange: Exchange, thrown: unknown): void => {
    if (!(thrown instanceof Refusal)) gateway.reportFailure(thrown, exchange.id);
    try {
      refuse(thrown, exchange);
    } catch (error) {
      giveUp(exchange, error);
    }
  };
  const rest: Rest = {
    handler: () => undefined,
    known: modelEndpoints.map(({ path }) => ({ path, method: 'POST' })),
    visits: new WeakMap(),
    answer,
  };
  const open = (request: IncomingMessage, response: ServerResponse): Exchange =>
    openExchange(request, response, readHead(request, gateway.current().userPathHeader), gateway.nowMs());
  const pipelining = createPipelining(open, (exchange) => {
    const { request, head } = exchange;
    try {
      if (head.fault) throw head.fault;
      if (gateway.ownNames !== undefined) refuseForeign(exchange, gateway.ownNames);
      request.url = originForm(request.url ?? '', head.host);
      const endpoint = request.method === 'POST' ? doors.get(pathOf(request.url)) : undefined;
      if (endpoint) {
        serve(endpoint, exchange, gateway).catch((error: unknown) => giveUp(exchange, error));
      } else {
        const visit = { exchange, principal: nobody };
        rest.visits.set(request, visit);
        serveRest(visit, gateway, rest).catch((error: unknown) => answer(exchange, error));
      }
    } catch (error) {
      answer(exchange, error);
    }
  });
  const options = {
    maxHeaderSize: maxHeaderBytes,
    requireHostHeader: false,
    connectionsCheckingInterval: timeoutCheckMs,
  };
  const server: Server = createServer({ ...options, keepAliveTimeout: keepAliveMs }, pipelining.take);
  // One more than are accepted, so that it shows when there are too many, and no more of them are kept.
  server.maxHeadersCount = maxHeaders + 1;
  server.on('checkContinue', pipelining.take);
  server.on('checkExpectation', pipelining.take);
  const connections = watchConnections(server);
  watchWriteProgress({ sockets: pipelining.sockets, idleMs: () => writeIdleMs, nowMs: () => gateway.nowMs() });
  const factory = (handler: Handler): Server => {
    rest.handler = handler;
    return server;
  };
  const app = await createApp(gateway, rest, {
    serverFactory: factory,
    clientErrorHandler: answerParseErrors(pipelining),
  });

  return {
    async listen(host, port) {
      // What the framework answers is where a wildcard may be dialled; it is not what was bound.
      await app.listen({ host, port, backlog });
      return boundAddress(server.address());
    },
    apply({ timeouts, connections: settings }) {
      server.headersTimeout = timeouts.headersMs;
      server.requestTimeout = timeouts.headersMs + timeouts.bodyMs;
      writeIdleMs = timeouts.writeIdleMs;
      connections.limit(settings);
    },
    openRequests: pipelining.open,
    connections: () => connections.counts(),
    async drain(graceMs) {
      pipelining.drain();
      // http's own close would stop the timeout checks, and count answers that are not read yet as idle.
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
      const sweepIdle = (): void => {
        if (!pipelining.flushing()) server.closeIdleConnections();
      };
      sweepIdle();
      const sweep = setInterval(sweepIdle, timeoutCheckMs);
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
}

/** Everything but model requests: checked path, known caller, a route that there is, then Fastify. */
async function serveRest(visit: Visit, gateway: Gateway, { known, handler }: Rest): Promise<void> {
  const { exchange } = visit;
  const { request, response } = exchange;
  const path = pathOf(request.url ?? '');
  checkPath(request);
  if (isAdminPath(path)) return forwardAdmin(exchange, gateway);
  if (!publicPaths.has(path)) visit.principal = authenticate(exchange, gateway.current().credentials);
  const refused = noRoute(request.method ?? '', path, known);
  if (refused) throw refused;
  await expectNoBody(exchange);
  for (const [name, value] of fixedEntries) response.setHeader(name, value);
  response.setHeader('x-request-id', exchange.id);
  handler(request, response);
}

/**
 * The Fastify application: plugins, the caller of each request, and `answer` for whatever the plugins do not answer. Adds the plugins'
 * routes to the known ones. Only requests of known routes without a body come here, so that what Fastify makes of a content type is none
 * of its clients' business.
 */
async function createApp(
  gateway: Gateway,
  { known, visits, answer }: Rest,
  options: Pick<FastifyServerOptions, 'serverFactory' | 'clientErrorHandler'>,
): Promise<FastifyInstance> {
  const app = fastify({
    ...options,
    logger: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: maxHeaderBytes },
  });
  app.addHook('onRoute', ({ url, method }) => {
    for (const each of [method].flat()) known.push({ path: url, method: each });
  });
  app.decorateRequest('principal');
  app.addHook('onRequest', async (request) => {
    request.principal = visits.get(request.raw)?.principal ?? nobody;
  });
  const fail = (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack();
    const visit = visits.get(request.raw);
    if (visit) answer(visit.exchange, thrown);
  };
  app.setErrorHandler(fail);
  app.setNotFoundHandler((request, reply) => {
    const fill = { method: request.method, path: pathOf(request.raw.url ?? '') };
    fail(refusal('route_not_found', { fill }), request, reply);
  });
  for (const plugin of plugins) await app.register(plugin, { gateway });
  await app.ready();
  return app;
}
