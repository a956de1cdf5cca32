// A separate port for /metrics, so that a network can keep clients away from it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { boundAddress } from '../plane/bound-address.ts';
import { createServer } from '../plane/http.ts';
import { listenOrExit } from '../plane/start.ts';
import type { Metrics } from './metrics.ts';

/** A few Prometheus servers and a curious person. */
const maxConnections = 64;
/** How long a scraper may take to ask, or leave its answer unread. Milliseconds. */
const patienceMs = 10_000;

/** Serves metrics on this port besides, and says where in the log; ends the process when the port is taken. */
export async function listenForMetrics(
  metrics: Pick<Metrics, 'contentType' | 'text'>,
  { host, port }: { readonly host: string; readonly port: number },
  log: Pick<Logger, 'info'>,
): Promise<void> {
  const place = { host, port, prefix: 'GATEWAY_METRICS' };
  const address = await listenOrExit('proxy', place, serveMetrics(metrics, host, port));
  log.info({ address }, 'serving metrics');
}

/**
 * Serves GET /metrics there and nothing else, one request per connection; resolves with the address, such as http://127.0.0.1:9100.
 * Rejects when the port is taken. It never keeps the process alive.
 */
function serveMetrics(metrics: Pick<Metrics, 'contentType' | 'text'>, host: string, port: number): Promise<string> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.shouldKeepAlive = false;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead || request.url?.replace(/\?.*$/s, '') !== '/metrics') {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' });
      response.end('Only GET /metrics is served on this port.\n');
      return;
    }
    const text = await metrics.text();
    response.writeHead(200, { 'content-type': metrics.contentType, 'content-length': Buffer.byteLength(text) });
    response.end(text);
  };
  const limits = { headersTimeout: patienceMs, requestTimeout: patienceMs, maxHeaderSize: 16 * 1024 };
  const server = createServer(limits, (request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.maxConnections = maxConnections;
  server.setTimeout(patienceMs, (socket) => socket.destroy());
  server.unref();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => resolve(boundAddress(server.address())));
  });
}
