// The door of realtime: opens a session for a WebSocket, and refuses what is none as HTTP does.
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { writeOpenAiError } from '../openai/chat.ts';
import { Refusal, requireModel } from '../requests.ts';
import { RealtimeSession } from './session.ts';

export const realtimeModel = 'demo-realtime';

export type Realtime = {
  /** Closes all sessions. */
  readonly end: () => void;
};

const mostSessions = 100;
/** Of one event of a client. Bytes. */
const frameLimit = 1024 * 1024;
/** The most bytes that a client may leave unread before it is cut off. */
const mostUnread = 4 * 1024 * 1024;
const longestSeconds = 3600;
/** How long an end that is told of the close may take to answer. Milliseconds. */
const closeMs = 2_000;

/** Whether a request wants to become a WebSocket; anything else stays a request. */
export function isHandshake({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/** Opens sessions at `/v1/realtime`. `intervalMs`: the pace of its answers. */
export function serveRealtime(server: Server, intervalMs: number): Realtime {
  const open = new Set<WebSocket>();
  const acceptor = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: frameLimit,
    closeTimeout: closeMs,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has('realtime') ? 'realtime' : false),
  });
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    try {
      const model = modelOf(request);
      if (open.size >= mostSessions) throw new Refusal(429, `The demo has ${mostSessions} sessions open.`);
      acceptor.handleUpgrade(request, socket, head, (webSocket) => {
        open.add(webSocket);
        webSocket.on('close', () => open.delete(webSocket));
        begin(webSocket, model, intervalMs);
      });
    } catch (error) {
      refuse(socket, error instanceof Refusal ? error : new Refusal(500, 'The demo provider failed to answer.'));
    }
  });
  return {
    end() {
      for (const webSocket of open) webSocket.close(1001, 'The demo provider is shutting down.');
    },
  };
}

/** The model of a session that is asked for; refuses (400, 404) anything else. */
function modelOf({ url = '/' }: IncomingMessage): string {
  const [path = '', query = ''] = url.split('?');
  if (path !== '/v1/realtime' && path !== '/realtime') {
    throw new Refusal(404, `Unknown request URL: GET ${path}.`, null, 'unknown_url');
  }
  return requireModel(new URLSearchParams(query).get('model'), [realtimeModel]);
}

function begin(webSocket: WebSocket, model: string, intervalMs: number): void {
  const line = {
    isOpen: () => webSocket.readyState === 1,
    send: (text: string): Promise<void> => {
      if (webSocket.bufferedAmount > mostUnread) webSocket.terminate();
      return new Promise((sent) => {
        webSocket.send(Buffer.from(text), { binary: false }, () => sent());
      });
    },
  };
  const expiresAt = Math.floor(Date.now() / 1000) + longestSeconds;
  const session = new RealtimeSession(line, { seed: randomUUID(), model, expiresAt, intervalMs });
  const expiry = setTimeout(() => webSocket.close(1001, 'The session has expired.'), longestSeconds * 1000);
  // Errors are followed by `close`.
  webSocket.on('error', () => undefined);
  webSocket.on('close', () => clearTimeout(expiry));
  webSocket.on('message', (data, isBinary) => session.hear(isBinary ? '' : data.toString()));
}

function refuse(socket: Socket, refusal: Refusal): void {
  const body = JSON.stringify(writeOpenAiError(refusal));
  const lines = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}
