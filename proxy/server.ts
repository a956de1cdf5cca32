// The proxy's HTTP server. Model requests go straight to the line; Fastify serves every other door.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { modelEndpoints, plugins, publicPaths } from './endpoints/index.ts';
import { Refusal, refusal } from './errors.ts';
import type { Gateway } from './gateway.ts';
import { serve } from './pipeline.ts';
import { type Exchange, openExchange } from './request/exchange.ts';
import { checkPath, isAdminPath, originForm, pathOf, readHead } from './request/head.ts';
import { answerParseErrors } from './request/parse-errors.ts';
import { refuse } from './request/refuse.ts';
import { createTurns } from './request/turns.ts';
import type { ServerTimeouts } from './snapshot/snapshot.ts';
import { authenticate, type Principal, refuseForeign } from './stages/authenticate.ts';
import { forwardAdmin } from './stages/forward.ts';
import { discard } from './stages/receive.ts';

interface KnownRoute {
  readonly path: string;
  readonly method: string;
}

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
  /** Starts listening; resolves with the address, such as http://127.0.0.1:8080. Rejects when the port is taken. */
  listen(host: string, port: number): Promise<string>;
  /** Puts the client-side timeouts of a snapshot in force. */
  apply(timeouts: ServerTimeouts): void;
  /** Closes the listener and resolves when every open request was answered, or after `graceMs`, when the rest is cut. */
  drain(graceMs: number): Promise<void>;
  /** Requests being served at this moment. */
  openRequests(): number;
}

/** Longest request line with headers. Bytes. */
const maxHeaderBytes = 16 * 1024;
/** How long a connection may stay idle between requests. Milliseconds. */
const keepAliveMs = 72_000;
/** How often client-side timeouts are looked at. Milliseconds. */
const timeoutCheckMs = 100;

const doors = new Map(modelEndpoints.map((endpoint) => [endpoint.path, endpoint]));
/** Builds the server around a gateway. */
export async function createProxyServer(gateway: Gateway): Promise<ProxyServer> {
  const visits = new WeakMap<IncomingMessage, Visit>();
  let rest: Handler = () => undefined;

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
  const open = (request: IncomingMessage, response: ServerResponse): Exchange =>
    openExchange(request, response, readHead(request, gateway.current().userPathHeader), gateway.nowMs());
  const turns = createTurns(open, (exchange) => {
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
        visits.set(request, visit);
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
  const server: Server = createServer({ ...options, keepAliveTimeout: keepAliveMs }, turns.take);
  server.maxHeadersCount = 0;
  server.on('checkContinue', turns.take);
  server.on('checkExpectation', turns.take);
  server.on('timeout', (socket: Socket) => {
    const turn = turns.current(socket);
    const isIdle = turn === undefined && socket.timeout !== server.timeout;
    // Nothing moved for write_idle: a client that left bytes unread is cut, one that waits for its answer is not.
    if (isIdle || (turn !== undefined && socket.writableLength > 0)) socket.destroy();
    else socket.setTimeout(server.timeout);
  });
  const factory = (handler: Handler): Server => {
    rest = handler;
    return server;
  };
  const visitOf = (request: IncomingMessage): Visit | undefined => visits.get(request);
  const app = await createApp(gateway, factory, answerParseErrors(turns), visitOf, answer);

  return {
    listen: (host, port) => app.listen({ host, port }),
    apply({ headersMs, bodyMs, writeIdleMs }) {
      server.headersTimeout = headersMs;
      server.requestTimeout = headersMs + bodyMs;
      server.timeout = writeIdleMs;
    },
    openRequests: turns.open,
    async drain(graceMs) {
      turns.drain();
      // http's own close would stop the timeout checks, and count answers that are not read yet as idle.
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
      const sweepIdle = (): void => {
        if (!turns.flushing()) server.closeIdleConnections();
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

/** Everything but model requests: checked path, known caller, then Fastify. */
async function serveRest(visit: Visit, gateway: Gateway, handler: Handler): Promise<void> {
  const { exchange } = visit;
  const { request, response, head } = exchange;
  const path = pathOf(request.url ?? '');
  checkPath(request);
  if (isAdminPath(path)) return forwardAdmin(exchange, gateway);
  if (!publicPaths.has(path)) visit.principal = authenticate(exchange, gateway.current().credentials);
  if (path === '*') throw noRoute(request.method ?? '', path, []);
  if (head.chunked || (head.contentLength ?? 0) > 0) await discard(exchange, gateway.current().bodyLimitBytes);
  response.setHeader('x-request-id', exchange.id);
  handler(request, response);
}

/** The Fastify application: plugins, the caller of each request, and `answer` for whatever the plugins do not answer. */
async function createApp(
  gateway: Gateway,
  serverFactory: (handler: Handler) => Server,
  clientErrorHandler: ReturnType<typeof answerParseErrors>,
  visitOf: (request: IncomingMessage) => Visit | undefined,
  answer: (exchange: Exchange, thrown: unknown) => void,
): Promise<FastifyInstance> {
  const fail = (thrown: unknown, request: IncomingMessage): void => {
    const visit = visitOf(request);
    if (visit) answer(visit.exchange, thrown);
  };
  const app = fastify({
    serverFactory,
    clientErrorHandler,
    logger: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: maxHeaderBytes },
  });
  const known: KnownRoute[] = modelEndpoints.map(({ path }) => ({ path, method: 'POST' }));
  app.addHook('onRoute', ({ url, method }) => {
    for (const each of [method].flat()) known.push({ path: url, method: each });
  });
  app.decorateRequest('principal');
  app.addHook('onRequest', async (request) => {
    request.principal = visitOf(request.raw)?.principal ?? nobody;
  });
  // Bodies were read and dropped before Fastify sees the request.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.setNotFoundHandler((request, reply) => {
    reply.hijack();
    fail(noRoute(request.method, pathOf(request.raw.url ?? ''), known), request.raw);
  });
  app.setErrorHandler((error, request, reply) => {
    reply.hijack();
    fail(error, request.raw);
  });
  for (const plugin of plugins) await app.register(plugin, { gateway });
  await app.ready();
  return app;
}

/** 405 with the methods that work here, or 404. */
function noRoute(method: string, path: string, known: readonly KnownRoute[]): Refusal {
  const matching = known.filter((route) =>
    route.path.endsWith('*') ? path.startsWith(route.path.slice(0, -1)) : path === route.path,
  );
  const shown = { method, path };
  if (matching.length === 0) return refusal('route_not_found', { fill: shown });
  const allow = [...new Set(matching.map((route) => route.method))].join(', ');
  return refusal('method_not_allowed', { fill: { ...shown, allow }, headers: { allow } });
}
