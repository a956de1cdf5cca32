// Serves the endpoints that are Fastify plugins. They get only requests with a checked path, a known caller, a known route and no body.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify';
import type { KeyUses } from '../../plane/access/key-uses.ts';
import { schemalessRoutes } from '../../plane/schemaless-routes.ts';
import { maxHeaderBytes, pathOf } from '../call/head.ts';
import { refusal } from '../errors.ts';
import { asksForWebSocket } from '../http/accept-web-socket.ts';
import { fixedHeaders } from '../http/answer-headers.ts';
import { speaksAnthropic } from '../http/error-format.ts';
import type { Exchange } from '../http/exchange.ts';
import { type KnownRoute, noRoute, noWebSocket } from '../http/known-routes.ts';
import { expectNoBody } from '../http/no-body.ts';
import { doors } from '../opaque/doors.ts';
import { signallingDoors } from '../realtime/doors.ts';
import { type AuthenticateParts, authenticate, type Principal } from '../stages/authenticate.ts';
import { type PluginParts, plugins, publicPaths } from './index.ts';
import { modelEndpoints } from './model-endpoints.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller; anonymous on public paths. */
    principal: Principal;
    /** Undefined: the server got it from elsewhere, as in tests. */
    exchange: Exchange | undefined;
    /** As it is echoed. */
    requestId: string;
  }
}

/** The parts that the plugins and their authentication need. */
export type PluginServerParts = AuthenticateParts & PluginParts & { readonly keyUses: KeyUses };

/** The server under the plugins. */
export interface PluginHost extends Required<Pick<FastifyServerOptions, 'clientErrorHandler'>> {
  readonly server: Server;
  /** Answers a request of which a plugin threw something. */
  readonly answer: (exchange: Exchange, thrown: unknown) => void;
}

export interface PluginServer {
  readonly app: FastifyInstance;
  /** Hands a request to its plugin. Throws the Refusal of one that has none, or may not use it. */
  readonly serve: (exchange: Exchange) => Promise<void>;
}

interface Visit {
  readonly exchange: Exchange;
  readonly principal: Principal;
}

const anonymous: Principal = {
  kind: 'anonymous',
  keyId: undefined,
  userPath: '/',
  shownPath: '/',
  allowedModels: undefined,
};

/** The headers that are added to Fastify's answers. */
const fixedEntries = Object.entries(fixedHeaders);

/** Registers all plugins on the server of the proxy. */
export async function createPluginServer(gateway: PluginServerParts, host: PluginHost): Promise<PluginServer> {
  const known: KnownRoute[] = [
    ...[...modelEndpoints, ...signallingDoors].map(({ path }) => ({ path, method: 'POST' })),
    ...doors.flatMap(({ path, methods }) => methods.map((method) => ({ path, method }))),
  ];
  const visits = new WeakMap<IncomingMessage, Visit>();
  let handle: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  const app = fastify({
    serverFactory: (handler) => {
      handle = handler;
      return host.server;
    },
    clientErrorHandler: host.clientErrorHandler,
    logger: false,
    schemaController: schemalessRoutes,
    return503OnClosing: false,
    routerOptions: { maxParamLength: maxHeaderBytes },
  });
  app.addHook('onRoute', ({ url, method }) => {
    for (const each of [method].flat()) known.push({ path: url, method: each });
  });
  app.decorateRequest('principal');
  app.decorateRequest('exchange');
  app.decorateRequest('requestId', '');
  // No request has a body, whatever type it names.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.addHook('onRequest', async (request) => {
    const visit = visits.get(request.raw);
    request.principal = visit?.principal ?? anonymous;
    request.exchange = visit?.exchange;
    request.requestId = visit?.exchange.id ?? '';
  });
  const fail = (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack();
    const visit = visits.get(request.raw);
    if (visit) host.answer(visit.exchange, thrown);
  };
  app.setErrorHandler(fail);
  app.setNotFoundHandler((request, reply) => {
    const fill = { method: request.method, path: pathOf(request.raw.url ?? '') };
    fail(refusal('route_not_found', { fill }), request, reply);
  });
  for (const plugin of plugins) await app.register(plugin, { gateway });
  await app.ready();

  return {
    app,
    async serve(exchange) {
      const { request, response } = exchange;
      const path = pathOf(request.url ?? '');
      const { credentials } = gateway.current();
      const isPublic = publicPaths.has(path);
      const authenticated = isPublic ? anonymous : authenticate(exchange, credentials, gateway);
      const principal = authenticated instanceof Promise ? await authenticated : authenticated;
      if (!isPublic) exchange.caller = principal;
      gateway.keyUses.note(principal.keyId, exchange.startedAtMs);
      const refused = noRoute(request.method ?? '', path, known);
      if (refused) throw refused.status === 405 && asksForWebSocket(request) ? noWebSocket(path) : refused;
      await expectNoBody(exchange);
      for (const [name, value] of fixedEntries) response.setHeader(name, value);
      response.setHeader('x-request-id', exchange.id);
      if (speaksAnthropic(path, request)) response.setHeader('request-id', exchange.id);
      visits.set(request, { exchange, principal });
      handle(request, response);
    },
  };
}
