// A provider of realtime sessions in this process: what it was asked, and its ends of the sessions.
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { createServer } from '../../plane/http.ts';
import { listen } from './ports.ts';
import type { Teardown } from './teardown.ts';

/**
 * The treatment of a handshake: it opens a session, never answers, or writes these bytes; `accept`: the value of
 * `Sec-WebSocket-Accept`.
 */
export type Greeting = 'open' | 'hang' | { readonly bytes: string | ((accept: string) => string) };

export interface FakeRealtime {
  /** Base URL, without TLS. */
  readonly url: string;
  readonly port: number;
  /** The handshakes and other requests that came, in their order; a body is in `body`. */
  readonly asked: (IncomingMessage & { body?: string })[];
  /** Its ends of the sessions that were opened, in their order. */
  readonly sessions: WebSocket[];
  greet(greeting: Greeting): void;
  /** Sets the behaviour of a session that opens; the default speaks as OpenAI does. */
  behave(session: (end: WebSocket, request: IncomingMessage) => void): void;
  /** How requests that are no handshakes are answered. */
  answer(with_: (response: ServerResponse) => void): void;
}

const usage = { total_tokens: 30, input_tokens: 10, output_tokens: 20 };

/** `session.created` at first; a response of 30 tokens for each `response.create`, anything else comes back. */
export function speakAsOpenAi(end: WebSocket): void {
  const say = (event: object): void => end.send(JSON.stringify(event));
  say({ type: 'session.created', session: { id: 'sess_1' } });
  end.on('message', (data, isBinary) => {
    const event = isBinary ? undefined : (JSON.parse(data.toString()) as { type?: string });
    if (event?.type !== 'response.create') {
      end.send(isBinary ? data : data.toString());
      return;
    }
    say({ type: 'response.output_text.delta', delta: 'Hello.' });
    say({ type: 'response.done', response: { id: 'resp_1', status: 'completed', usage } });
  });
}

/** RFC 6455, 4.2.2. */
function acceptOf({ headers }: IncomingMessage): string {
  const key = `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  return createHash('sha1').update(key).digest('base64');
}

/** `tls`: it speaks TLS, for a host of that certificate. */
export async function startFakeRealtime(
  t: Teardown,
  tls?: { readonly key: string; readonly cert: string },
): Promise<FakeRealtime> {
  const asked: FakeRealtime['asked'] = [];
  const sessions: WebSocket[] = [];
  const sockets = new Set<Socket>();
  let greeting: Greeting = 'open';
  let behave: Parameters<FakeRealtime['behave']>[0] = speakAsOpenAi;
  let answer = (response: ServerResponse): void => void response.writeHead(404).end();
  const acceptor = new WebSocketServer({ noServer: true });
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const entry: FakeRealtime['asked'][number] = request;
    entry.body = '';
    request.on('data', (piece: Buffer) => {
      entry.body += piece.toString();
    });
    request.on('end', () => {
      asked.push(entry);
      answer(response);
    });
  };
  const server = tls === undefined ? createServer(take) : createTlsServer(tls, take);
  server.on('tlsClientError', () => undefined);
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    asked.push(request);
    socket.on('error', () => undefined);
    if (greeting === 'hang') return;
    if (greeting !== 'open') {
      const { bytes } = greeting;
      socket.end(typeof bytes === 'string' ? bytes : bytes(acceptOf(request)));
      return;
    }
    acceptor.handleUpgrade(request, socket, head, (end) => {
      end.on('error', () => undefined);
      sessions.push(end);
      behave(end, request);
    });
  });
  const port = await listen(server);
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    asked,
    sessions,
    greet: (next) => {
      greeting = next;
    },
    behave: (next) => {
      behave = next;
    },
    answer: (next) => {
      answer = next;
    },
  };
}
