// The HTTP server of the control plane: access to routes, and one shape for every error, including errors of the HTTP parser.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type FastifyError, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Logger } from 'pino';
import { bearerToken } from '../domain/keys/credentials.ts';
import { isRequestId } from '../domain/request-id.ts';
import { schemalessRoutes } from '../plane/schemaless-routes.ts';
import type { Right } from '../schemas/admin-rights.ts';
import { checkJsonBounds } from './admin/json-bounds.ts';
import { storeRefusal } from './admin/store-refusal.ts';
import {
  type Access,
  type AccessParts,
  accessOf,
  addressOf,
  anonymous,
  authenticate,
  type Operator,
  operatorAfterBody,
  refuseForeign,
  refuseLesser,
  secretsOf,
  who,
} from './authenticate.ts';
import { admitRequest, refuseExpectation, refuseUnparsed, safeHeaders } from './connection.ts';
import { describeRefusal, type ErrorCode, Refusal, refusal } from './errors.ts';
import type { Metrics } from './metrics.ts';
import type { Readiness } from './readiness.ts';
import type { AdminChange, AdminWrite } from './records/write-record.ts';
import { secretInBody, secretInUrl } from './refuse-secrets.ts';
import { WriteInDoubt } from './store/documents.ts';
import { pathOf, type Route, refuseRoute } from './unknown-route.ts';

export interface ServerParts {
  readonly logger: Pick<Logger, 'error' | 'info'>;
  readonly metrics: Metrics;
  readonly access: AccessParts;
  /** Whether this plane is ready or degraded. */
  readonly readiness: () => Readiness;
  /** Hears of each write of an operator, done or refused, when it is answered. */
  readonly writes?: (write: AdminWrite) => void;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The access of the route. Absent: its row of `adminRights`; a route without both cannot be registered. */
    access?: Access;
  }
  interface FastifyRequest {
    /** The operator; on public routes the anonymous one. */
    operator: Operator;
    /** When it came. */
    begun: Pick<AdminWrite, 'startedMs' | 'clientAddress'>;
    /** The change of the write, once it is done. */
    change: AdminChange | undefined;
    /** The error that it is answered with. */
    refused: Refusal | undefined;
    /**
     * Logs and records a finished write: the operator, what it changed (a rule by its title, a key by its id), and further facts such as
     * before and after. They hold no secret.
     */
    wrote(about: string, facts?: object): void;
  }
}

const bodyLimit = 1024 * 1024;
const readMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

const codeOfFrameworkError: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_BAD_URL: 'invalid_path',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_CTP_INVALID_JSON_BODY: 'invalid_json',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: 'unsupported_media_type',
};

/**
 * The server, not yet listening. Routes added to it before it listens share its error shape: a thrown `Refusal` is
 * rendered flat, an unexpected error becomes `internal_error` and a log line (spec "Admin error shape"). Each has a row in `adminRights`,
 * or declares itself public: `config: { access: 'public' }`.
 */
export function createServer({ logger, metrics, access, readiness, writes }: ServerParts) {
  const routes: Route[] = [];
  const app = fastify({
    // The gateway writes its own log lines.
    logger: false,
    bodyLimit,
    // The maximum length of a request line, so that a very long id answers 404 like any unknown id.
    routerOptions: { maxParamLength: 16 * 1024 },
    genReqId: readRequestId,
    requestTimeout: 60_000,
    return503OnClosing: false,
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 1000, requireHostHeader: false },
    schemaController: schemalessRoutes,
    clientErrorHandler: refuseUnparsed,
    frameworkErrors: (error, request, reply) => void renderUnread(error, request, reply, access),
  });
  app.removeAllContentTypeParsers();
  // The parser of the framework also refuses members that would change a prototype.
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (body.length === 0) done(null, undefined);
    else void parseJson(request, readText(request, body), done);
  });
  app.server.on('checkExpectation', refuseExpectation);

  for (const name of ['operator', 'begun', 'change', 'refused']) app.decorateRequest(name);
  app.decorateRequest('wrote', function (this: FastifyRequest, about: string, facts: object = {}) {
    this.change = { about, facts };
    record(this, 'done', logger, { about, ...facts });
  });
  app.addHook('onRoute', (route) => {
    for (const method of [route.method].flat()) accessOf(method, route.url, route.config?.access);
    routes.push(route);
  });
  // Before the body is read, so that an unknown path answers 404 for any body.
  app.addHook('onRequest', async (request, reply) => {
    if (!admitRequest(request.raw, reply.raw)) {
      reply.hijack();
      return;
    }
    void reply.headers({ ...safeHeaders, 'x-request-id': request.id });
    if (!hasOneHost(request.raw)) throw refusal('malformed_request');
    refuseForeign(request.raw, access);
    if (request.is404)
      throw (
        (await refusalOfStranger(request, access)) ?? refusalOfSecret(request, access) ?? refuseRoute(request, routes)
      );
    const needed = accessOf(request.method, request.routeOptions.url ?? '', request.routeOptions.config.access);
    // While the socket is open: a client that leaves at once has an address, too.
    request.begun = { startedMs: access.nowMs(), clientAddress: addressOf(request.raw, access) ?? '' };
    request.operator = needed === 'public' ? anonymous : await authenticate(request.raw, access);
    if (needed !== 'public') refuseUnlessMay(request, needed, access);
    if (isEncoded(request.raw)) throw refusal('unsupported_encoding');
    // Many clients send a content type without a body. A route that needs a body checks for it.
    if (hasNoBody(request.raw)) delete request.raw.headers['content-type'];
  });
  app.addHook('preHandler', async (request) => lookAgain(request, access));
  // Before the answer is sent: a client that does not wait for it has written all the same.
  app.addHook('onSend', async (request, { statusCode }) => {
    if (writes !== undefined && isWrite(request)) writes(writeOf(request, statusCode, access));
  });
  app.setNotFoundHandler((request, reply) => render(refuseRoute(request, routes), request, reply));
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const refused = asRefusal(error, request);
    if (error instanceof WriteInDoubt) record(request, 'unknown', logger);
    if (refused.code === 'internal_error') logger.error({ err: error, request_id: request.id }, 'unexpected failure');
    render(refused, request, reply);
  });

  const config = { access: 'public' } as const;
  app.get('/health', { config }, () => ({ status: 'ok' }));
  app.get('/health/ready', { config }, () => withoutCauses(readiness()));
  app.get('/metrics', { config }, async (_, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  return app;
}

/** For what the framework could not route; never rejects. A stranger learns nothing of it. */
async function renderUnread(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
  access: AccessParts,
): Promise<void> {
  render((await refusalOfStranger(request, access)) ?? asRefusal(error, request), request, reply);
}

/** What anybody may know. */
function withoutCauses({ status, reasons }: Readiness): Readiness {
  return { status, reasons };
}

/** One line about a write. When the outcome is unknown, only the request shows what it would have changed. */
function record(request: FastifyRequest, outcome: string, logger: Pick<Logger, 'info'>, facts: object = {}): void {
  const { method, routeOptions, id } = request;
  const said = { operator: who(request), method, route: routeOptions.url };
  logger.info({ ...said, ...facts, outcome, request_id: id }, 'admin write');
}

/** Whether an operator has changed something, or tried to. */
function isWrite({ operator, method, routeOptions, change, refused }: FastifyRequest): boolean {
  const isAdmitted = (operator as Operator | undefined) !== undefined && routeOptions.config.access !== 'public';
  return isAdmitted && (change !== undefined || (refused !== undefined && !readMethods.has(method)));
}

function writeOf(request: FastifyRequest, status: number, access: AccessParts): AdminWrite {
  const { id, operator, begun, method, url, headers, change, refused, routeOptions } = request;
  const shown = bearerToken(headers.authorization);
  const secrets = [...secretsOf(access), ...(shown === undefined ? [] : [shown])];
  // Of an address with a secret, only the form of it is kept.
  const path = refused?.code === 'secret_in_request' ? (routeOptions.url ?? '/admin') : pathOf(url);
  const asked = { method, path, userAgent: headers['user-agent'], secrets };
  return { requestId: id, operator, ...begun, endedMs: access.nowMs(), ...asked, status, change, refused };
}

function render(refused: Refusal, request: FastifyRequest, reply: FastifyReply): void {
  request.refused = refused;
  void reply
    .code(refused.status)
    .headers({ ...safeHeaders, ...refused.headers, 'x-request-id': request.id })
    .send(describeRefusal(refused));
}

function asRefusal(
  error: Error & { code?: string; statusCode?: number | undefined },
  request: FastifyRequest,
): Refusal {
  const known = storeRefusal(error);
  if (known instanceof Refusal) return known;
  // Other errors that the framework finds in a request are mistakes of the client.
  const isOfClient = error.code?.startsWith('FST_') === true && (error.statusCode ?? 500) < 500;
  const code = codeOfFrameworkError[error.code ?? ''] ?? (isOfClient ? 'malformed_request' : 'internal_error');
  return refusal(code, { fill: { request_id: request.id, limit: bodyLimit } });
}

/** The refusal for a caller that must not learn which paths the admin API has; undefined for operators and for other paths. */
async function refusalOfStranger(request: FastifyRequest, access: AccessParts): Promise<Refusal | undefined> {
  if (!/^\/admin(?:[/?]|$)/.test(request.url)) return undefined;
  try {
    await authenticate(request.raw, access);
    return undefined;
  } catch (error) {
    return asRefusal(error as Error, request);
  }
}

/** Once the body has come: throws when the operator has lost its right meanwhile, and when a secret stands in the body. */
function lookAgain(request: FastifyRequest, access: AccessParts): void {
  const { body, method, operator, routeOptions } = request;
  const needed = accessOf(method, routeOptions.url ?? '', routeOptions.config.access);
  if (needed === 'public' || body === undefined) return;
  request.operator = operatorAfterBody(operator, access, needed);
  const leaked = secretInBody(body, secretsOf(access));
  if (leaked !== undefined) throw leaked;
}

/** Throws the refusal of a request whose operator has not the right that it needs, or whose address holds a secret. */
function refuseUnlessMay(request: FastifyRequest, needed: Right, access: AccessParts): void {
  refuseLesser(request.operator, needed);
  const leaked = refusalOfSecret(request, access);
  if (leaked !== undefined) throw leaked;
}

/** The refusal for an operator whose address holds a secret: another caller must not learn whether it is one. */
function refusalOfSecret({ url }: FastifyRequest, access: AccessParts): Refusal | undefined {
  return /^\/admin(?:[/?]|$)/.test(url) ? secretInUrl(url, secretsOf(access)) : undefined;
}

function hasOneHost(request: IncomingMessage): boolean {
  const hosts = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  return hosts === 1 || (hosts === 0 && request.httpVersion === '1.0');
}

/** Whether the body is compressed, which is not supported. */
function isEncoded({ headers }: IncomingMessage): boolean {
  return (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity';
}

function hasNoBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0;
}

/**
 * The text of a JSON body. Throws 415 for another charset, 400 for invalid UTF-8, so that no garbled text is stored, and what
 * `checkJsonBounds` throws.
 */
function readText({ headers }: FastifyRequest, body: Buffer): string {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && charset.toLowerCase() !== 'utf-8') throw refusal('unsupported_media_type');
  checkJsonBounds(body);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw refusal('invalid_json');
  }
}

function readRequestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && isRequestId(given) ? given : randomUUID();
}
