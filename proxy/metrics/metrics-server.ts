// A separate port for /metrics, so that a network can keep clients away from it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { foreignPart } from '../../plane/access/own-names.ts';
import { boundAddress } from '../../plane/bound-address.ts';
import { createServer } from '../../plane/http.ts';
import type { Identity } from '../../plane/identity.ts';
import { listenOrExit } from '../../plane/start.ts';
import { fixedHeaders } from '../http/answer-headers.ts';
import { cut } from '../http/cut.ts';
import { holdSocket } from '../http/hold-socket.ts';
import type { Metrics } from './metrics.ts';

/** A few Prometheus servers and a curious person. */
const maxConnections = 64;
/** How long a connection may take, from its first byte to the last byte of its answer, whatever it sends meanwhile. Milliseconds. */
const usualPatienceMs = 10_000;

/** Where metrics are served, and as whose. */
interface MetricsAddress {
  readonly identity: Identity;
  readonly host: string;
  readonly port: number;
  /** The names in `Host` that are served without a master key. Absent with one. */
  readonly ownNames: ReadonlySet<string> | undefined;
  readonly patienceMs?: number;
}

/** Serves metrics on this port besides, and says where in the log; ends the process when the port is taken. */
export async function listenForMetrics(
  metrics: Pick<Metrics, 'contentType' | 'text'>,
  place: MetricsAddress,
  log: Pick<Logger, 'info'>,
): Promise<void> {
  const { identity, host, port } = place;
  const named = { host, port, prefix: 'GATEWAY_METRICS' };
  const address = await listenOrExit(identity, named, serveMetrics(metrics, place));
  log.info({ address }, 'serving metrics');
}

/**
 * Serves GET /metrics there and nothing else, one request per connection; resolves with the address, such as http://127.0.0.1:9100.
 * Rejects when the port is taken. It never keeps the process alive.
 */
function serveMetrics(metrics: Pick<Metrics, 'contentType' | 'text'>, place: MetricsAddress): Promise<string> {
  const { host, port, ownNames, patienceMs = usualPatienceMs } = place;
  const refuse = (response: ServerResponse, status: number, sentence: string): void => {
    response.writeHead(status, { ...fixedHeaders, 'content-type': 'text/plain; charset=utf-8' });
    response.end(`${sentence}\n`);
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.shouldKeepAlive = false;
    if (ownNames !== undefined && isForeign(request, ownNames)) {
      refuse(response, 403, 'Without a master key only names of this machine are served. Set GATEWAY_MASTER_KEY.');
      return;
    }
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead || request.url?.replace(/\?.*$/s, '') !== '/metrics') {
      refuse(response, 404, 'Only GET /metrics is served on this port.');
      return;
    }
    const text = await metrics.text();
    const length = { 'content-length': Buffer.byteLength(text) };
    response.writeHead(200, { ...fixedHeaders, 'content-type': metrics.contentType, ...length });
    response.end(text);
  };
  const asked = new WeakSet<Socket>();
  const server = createServer({ maxHeaderSize: 16 * 1024 }, (request, response) => {
    const { socket } = request;
    // Each pipelined request would be an answer of thousands of lines.
    if (asked.has(socket)) {
      cut(socket, 'pipelined');
      return;
    }
    asked.add(socket);
    // Nothing behind a request is read: neither a body nor another request.
    holdSocket(socket);
    answer(request, response).catch(() => response.destroy());
  });
  // Beside other workers, too: see watchConnections.
  Object.assign(server, { maxConnections, dropMaxConnection: true });
  server.on('connection', (socket: Socket) => {
    const timer = setTimeout(() => socket.destroy(), patienceMs).unref();
    socket.once('close', () => clearTimeout(timer));
  });
  server.unref();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(boundAddress(server.address())));
  });
}

/** Whether a web page of another origin may have sent it. */
function isForeign({ method = '', headers, socket }: IncomingMessage, ownNames: ReadonlySet<string>): boolean {
  const { host, origin } = headers;
  return foreignPart({ method, host, origin, localAddress: socket.localAddress }, ownNames) !== undefined;
}
