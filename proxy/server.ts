// The proxy's HTTP server: a table says which trip takes a request line.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { boundAddress } from '../plane/bound-address.ts';
import { createServer } from '../plane/http.ts';
import type { Commit } from '../plane/put-in-force.ts';
import type { SecureListener } from '../plane/tls/secure-listener.ts';
import { forwardAdmin } from './admin/forward.ts';
import { checkPath, maxHeaderBytes, maxHeaders, originForm, pathOf } from './call/head.ts';
import { namingEndpoints } from './endpoints/naming-endpoints.ts';
import { createPluginServer, type PluginServerParts } from './endpoints/plugin-server.ts';
import { Refusal, refusal } from './errors.ts';
import { answerExplain, type ExplainParts } from './explain/answer-explain.ts';
import { answerRefusal } from './http/answer-refusal.ts';
import { type ConnectionCounts, watchConnections } from './http/connections.ts';
import { refusePreflight, shareAcrossOrigins } from './http/cross-origin.ts';
import { createDraining, type Draining } from './http/draining.ts';
import { type Exchange, openExchange } from './http/exchange.ts';
import { isUnder } from './http/known-routes.ts';
import { answerParseErrors } from './http/parse-errors.ts';
import { createPipelining } from './http/pipelining.ts';
import { refuseCertificate } from './http/refuse-certificate.ts';
import { refuseForeign } from './http/refuse-foreign.ts';
import { watchWriteProgress } from './http/write-progress.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { AccessLog } from './records/access-log.ts';
import type { Snapshot } from './snapshot/snapshot.ts';
import type { TripName } from './tallies/request-tally.ts';
import type { SessionCounts } from './tallies/session-counts.ts';
import { answerTrial, type TrialParts, trialPath } from './trial/answer-trial.ts';
import { type BeginTrip, createTrips, type TripParts } from './trips/begin-trip.ts';
import { createUpgrades, isUpgrade, type UpgradeParts } from './trips/upgrades.ts';

/** The running server. */
export interface ProxyServer extends Draining {
  /** Starts listening; resolves with the address it is bound to, such as http://0.0.0.0:8080. Rejects when the port is taken. */
  listen(host: string, port: number): Promise<string>;
  /**
   * Changes nothing; throws for a certificate that cannot be used. The function that it gives puts the client-side timeouts, the limits of
   * connections and TLS of a snapshot in force.
   */
  prepare(snapshot: Pick<Snapshot, 'timeouts' | 'connections' | 'secure'>): Commit;
  /** Requests being served at this moment. */
  openRequests(): number;
  /** Counts of connections. */
  connections(): ConnectionCounts;
  /** Counts of sessions over WebSocket. */
  sessions(): SessionCounts;
}

/** The parts of all trips, and those that count and log requests. */
export type ServerParts = TripParts &
  UpgradeParts &
  PluginServerParts &
  ExplainParts &
  TrialParts &
  Parameters<typeof forwardAdmin>[1] & {
    readonly accessLog: AccessLog;
    readonly metrics: Metrics;
    readonly secure: Pick<SecureListener, 'attach' | 'prepare' | 'begin' | 'drain'>;
    /** How many processes share the port. */
    readonly workers: number;
  };

/** Rejects with the Refusal to answer with, or unexpectedly. */
type Serve = (exchange: Exchange, gateway: ServerParts) => Promise<void>;

type OtherTrip = Exclude<TripName, 'model'>;

/** A kind of request and what serves it. */
interface Trip {
  /** As the metrics call it. */
  readonly name: Exclude<OtherTrip, 'none'>;
  /** A path; with `*` at its end all that begin so. */
  readonly path: string;
  readonly serve: Serve;
}

const explain: Serve = (exchange, gateway) => answerExplain(exchange, gateway, namingEndpoints);

/** For every caller alike, and whatever it sends: there is nothing here. */
const refuseAdmin: Serve = async ({ request: { method = '', url = '' } }) => {
  throw refusal('route_not_found', { fill: { method, path: pathOf(url) } });
};

/** The trip of any other request: the first row that matches its path. */
function tableOf(plugins: Serve, { servesAdmin }: { readonly servesAdmin: boolean }): readonly Trip[] {
  const admin: readonly Omit<Trip, 'name'>[] = servesAdmin
    ? [
        { path: '/admin/explain', serve: explain },
        { path: '/admin/explain/*', serve: explain },
        { path: trialPath, serve: answerTrial },
        { path: '/admin', serve: forwardAdmin },
        { path: '/admin/*', serve: forwardAdmin },
      ]
    : [
        { path: '/admin', serve: refuseAdmin },
        { path: '/admin/*', serve: refuseAdmin },
      ];
  return [...admin.map((row): Trip => ({ name: 'admin', ...row })), { name: 'other', path: '*', serve: plugins }];
}

/** Connections that the system may hold until they are taken: as many as its own bound (net.core.somaxconn) allows as a rule. */
const backlog = 4096;
/** Between two checks of client-side timeouts. Milliseconds. */
const timeoutCheckMs = 100;

const options = {
  maxHeaderSize: maxHeaderBytes,
  requireHostHeader: false,
  connectionsCheckingInterval: timeoutCheckMs,
};

/** Builds the server around a gateway. */
export async function createProxyServer(gateway: ServerParts): Promise<ProxyServer> {
  let writeIdleMs = Number.POSITIVE_INFINITY;
  let trips: readonly Trip[] = [];
  const beginTrip = createTrips(gateway);
  const pipelining = createPipelining(
    (request, response) => openExchange(request, response, gateway.current(), gateway.nowMs()),
    (exchange) => {
      watchWrites();
      begin(exchange, { trips, beginTrip }, gateway);
    },
  );
  const nowMs = (): number => gateway.nowMs();
  const watchWrites = watchWriteProgress({ sockets: pipelining.sockets, idleMs: () => writeIdleMs, nowMs });
  const upgrades = createUpgrades(gateway);
  // Behind another request it stays one: an answer and frames cannot share a connection. Node asks for every request with `Upgrade`, and
  // its parser drops what the client has sent behind one that stays HTTP.
  const shouldUpgradeCallback = (request: IncomingMessage): boolean => {
    const isSession = isUpgrade(request) && pipelining.current(request.socket) === undefined;
    if (!isSession) pipelining.last(request);
    return isSession;
  };
  const server = createServer({ ...options, shouldUpgradeCallback }, pipelining.take);
  const sessions = new WeakSet<Socket>();
  server.on('upgrade', (_request, socket: Socket) => void sessions.add(socket));
  // What a session may do was decided at its beginning, as with keys.
  gateway.secure.attach(server, {
    begun: (socket) => connections.countCut(socket),
    letGo(socket) {
      if (!sessions.has(socket)) pipelining.letGo(socket);
    },
  });
  upgrades.attach(server);
  // One more than are accepted, so that it shows when there are too many, and no more of them are kept.
  server.maxHeadersCount = maxHeaders + 1;
  server.on('checkContinue', pipelining.take);
  server.on('checkExpectation', pipelining.take);
  const connections = watchConnections(server, gateway.workers);
  const { app, serve: servePlugin } = await createPluginServer(gateway, {
    server,
    clientErrorHandler: answerParseErrors(pipelining, (unread) => {
      gateway.metrics.requests.answered('none', unread.refused.status);
      gateway.accessLog.unread(unread, gateway.current());
    }),
    answer: (exchange, thrown) => answer(exchange, thrown, gateway),
  });
  trips = tableOf(servePlugin, gateway);

  return {
    async listen(host, port) {
      // Fastify returns an address for dialling, which differs from the bound one for a wildcard.
      const scheme = gateway.secure.begin();
      await app.listen({ host, port, backlog });
      return boundAddress(server.address(), scheme);
    },
    prepare({ timeouts, connections: settings, secure }) {
      const putSecure = gateway.secure.prepare(secure);
      return () => {
        server.headersTimeout = timeouts.headersMs;
        server.requestTimeout = timeouts.headersMs + timeouts.bodyMs;
        server.keepAliveTimeout = timeouts.keepAliveMs;
        writeIdleMs = timeouts.writeIdleMs;
        connections.limit(settings);
        putSecure();
      };
    },
    openRequests: () => pipelining.open() + upgrades.size(),
    connections: () => connections.counts(),
    sessions: () => upgrades.counts(),
    ...createDraining({
      server,
      secure: gateway.secure,
      pipelining,
      upgrades,
      unsettled: () => gateway.metrics.requests.inFlight,
    }),
  };
}

interface Trips {
  readonly beginTrip: BeginTrip;
  /** Of all other requests. */
  readonly trips: readonly Trip[];
}

/** Lets a request begin the trip of its line, unless its head makes it unacceptable for all of them. */
function begin(exchange: Exchange, { trips, beginTrip }: Trips, gateway: ServerParts): void {
  const { request, head } = exchange;
  const { crossOrigin } = gateway.current();
  let name: OtherTrip = 'none';
  try {
    if (crossOrigin !== undefined && shareAcrossOrigins(exchange, crossOrigin)) {
      end(exchange, 'other', gateway);
      return;
    }
    refuseCertificate(exchange, gateway.certificates);
    if (head.fault) throw head.fault;
    refusePreflight(exchange, crossOrigin);
    if (gateway.ownNames !== undefined) refuseForeign(exchange, gateway.ownNames, crossOrigin?.origins);
    request.url = originForm(request.url ?? '', head.host);
    const path = pathOf(request.url);
    if (beginTrip(exchange, path)) return;
    const trip = tripOf(trips, request.method, path);
    name = trip.name;
    serveChecked(trip, exchange, gateway).catch((error: unknown) => answer(exchange, error, gateway));
  } catch (error) {
    answer(exchange, error, gateway);
  }
  exchange.response.once('close', () => end(exchange, name, gateway));
}

/** Counts and logs a request that is none of a model. */
function end(exchange: Exchange, name: OtherTrip, gateway: ServerParts): void {
  const { request, refused } = exchange;
  const status = statusOf(exchange);
  gateway.metrics.requests.answered(name, status);
  const asked = { exchange, method: request.method ?? '', path: pathOf(request.url ?? ''), status, refused };
  gateway.accessLog.other(asked, gateway.current(), gateway.nowMs());
}

/** Rejects rather than throws: a request without a body is complete by the time that its refusal is written. */
async function serveChecked(trip: Trip, exchange: Exchange, gateway: ServerParts): Promise<void> {
  checkPath(exchange.request);
  await trip.serve(exchange, gateway);
}

function tripOf(trips: readonly Trip[], method: string | undefined, path: string): Trip {
  for (const trip of trips) if (isUnder(path, trip.path)) return trip;
  throw refusal('route_not_found', { fill: { method: method ?? '', path } });
}

/** The status that the client got; 499 when it left before. */
function statusOf({ gone, response }: Exchange): number {
  return gone ? 499 : response.statusCode;
}

function answer(exchange: Exchange, thrown: unknown, gateway: ServerParts): void {
  if (!(thrown instanceof Refusal)) gateway.reportFailure(thrown, exchange.id);
  try {
    answerRefusal(thrown, exchange);
  } catch (error) {
    giveUp(exchange, error, gateway);
  }
}

/** Not even an error can be answered: a client must not wait for one. */
function giveUp(exchange: Exchange, error: unknown, gateway: ServerParts): void {
  gateway.reportFailure(error, exchange.id);
  exchange.response.destroy();
}
