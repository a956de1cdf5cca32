// The yardstick: the least an honest Node proxy must do (node:http, undici dispatch, backpressure, client gone), nothing else.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { type Dispatcher, Pool } from 'undici';

const { values } = parseArgs({ options: { upstream: { type: 'string' } } });
if (values.upstream === undefined) throw new Error('usage: bare.ts --upstream http://127.0.0.1:PORT');

/** One request under way: the raw handler undici calls, holding all there is to know about it. */
class Exchange implements Dispatcher.DispatchHandler {
  response: ServerResponse;
  collected: Buffer[] | undefined;
  head: string[] = [];
  status = 0;
  abort: ((reason?: Error) => void) | undefined;

  constructor(response: ServerResponse) {
    this.response = response;
  }

  onConnect(abort: (reason?: Error) => void): void {
    this.abort = abort;
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void): boolean {
    if (status < 200) return true;
    this.status = status;
    let sized = false;
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index]?.toString('latin1').toLowerCase();
      if (name === 'content-length') sized = true;
      if (name === 'content-type') this.head.push(name, headers[index + 1]?.toString('latin1') ?? '');
    }
    if (sized) {
      this.collected = [];
      return true;
    }
    this.response.on('drain', resume);
    this.response.writeHead(status, this.head);
    return true;
  }

  onData(chunk: Buffer): boolean {
    if (this.collected === undefined) return this.response.write(chunk);
    this.collected.push(chunk);
    return true;
  }

  onComplete(): void {
    exchanges.set(this.response.req.socket, undefined);
    if (this.collected === undefined) {
      this.response.end();
      return;
    }
    const body = whole(this.collected);
    this.head.push('content-length', String(body.length));
    this.response.writeHead(this.status, this.head);
    this.response.end(body);
  }

  onError(): void {
    exchanges.set(this.response.req.socket, undefined);
    if (this.response.headersSent) this.response.destroy();
    else this.response.writeHead(502, ['content-length', '0']).end();
  }
}

/** One entry for each connection, not for each request: tables that are made anew keep what is dead (proxy/pacing/open-list.ts). */
const exchanges = new WeakMap<Socket, Exchange | undefined>();
// No bound: a stream that stays open keeps its connection.
const pool = new Pool(values.upstream, { connections: null });

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => forward(request, response, whole(chunks)));
});
server.on('connection', (socket) => {
  socket.on('close', () => exchanges.get(socket)?.abort?.());
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  process.stdout.write(`${JSON.stringify({ msg: 'listening', address: `http://127.0.0.1:${port}` })}\n`);
});
process.on('SIGTERM', () => process.exit(0));

function forward(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const exchange = new Exchange(response);
  exchanges.set(request.socket, exchange);
  const headers = ['content-type', request.headers['content-type'] ?? 'application/json'];
  if (request.headers.authorization !== undefined) headers.push('authorization', request.headers.authorization);
  pool.dispatch({ path: request.url ?? '/', method: 'POST', headers, body }, exchange);
}

function whole(chunks: Buffer[]): Buffer {
  const [only] = chunks;
  return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
}
