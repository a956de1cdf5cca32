// Answers the handshake of a client with 101. The only server of ws.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { refusal } from '../errors.ts';
import { limitsOf, type WebSocketEnd } from './web-socket.ts';

/** The sub-protocol of the API. Browsers offer it beside the one with their key. */
const protocol = 'realtime';
/** RFC 6455, 4.1: 16 bytes in base64. */
const keyForm = /^[+/0-9A-Za-z]{22}==$/;
const version = '13';
/** RFC 6455, 4.1: tokens, none twice. */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** A handshake that was checked, and how its answer goes. */
export interface Acceptance {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  /** The bytes that the client sent behind its handshake. */
  readonly early: Buffer;
  readonly frameLimitBytes: number;
  /** Further headers of the answer, names and values in turn. */
  readonly headers: readonly string[];
}

/** Whether a request asks to become a WebSocket. One with a body does not: its connection could not be handed over yet. */
export function asksForWebSocket({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  const { upgrade, 'content-length': length = '0', 'transfer-encoding': coding } = headers;
  return method === 'GET' && upgrade?.toLowerCase() === 'websocket' && length === '0' && coding === undefined;
}

/** Throws 400 `invalid_upgrade` for a handshake that RFC 6455 does not allow. */
export function checkHandshake({ headers }: Pick<IncomingMessage, 'headers'>): void {
  if (!keyForm.test(headers['sec-websocket-key'] ?? '')) {
    throw refused('Sec-WebSocket-Key must be 16 bytes in base64');
  }
  if (headers['sec-websocket-version'] !== version) throw refused(`Sec-WebSocket-Version must be ${version}`);
  const { 'sec-websocket-protocol': offered } = headers;
  if (offered === undefined) return;
  const names = offered.split(',').map((name) => name.trim());
  if (new Set(names).size !== names.length || !names.every((name) => token.test(name))) {
    throw refused('Sec-WebSocket-Protocol must be a list of different names');
  }
}

/** Switches protocols. Undefined: the client has closed its connection. */
export function acceptWebSocket(acceptance: Acceptance): WebSocketEnd | undefined {
  const { request, socket, early, frameLimitBytes, headers } = acceptance;
  const server = new WebSocketServer({
    ...limitsOf(frameLimitBytes),
    noServer: true,
    clientTracking: false,
    handleProtocols: (offered) => (offered.has(protocol) ? protocol : false),
  });
  server.on('headers', (lines: string[]) => {
    for (let index = 0; index < headers.length; index += 2) lines.push(`${headers[index]}: ${headers[index + 1]}`);
  });
  let accepted: WebSocketEnd | undefined;
  server.handleUpgrade(request, socket, early, (webSocket) => {
    accepted = webSocket;
  });
  return accepted;
}

function refused(reason: string): Error {
  return refusal('invalid_upgrade', { fill: { reason }, headers: { 'sec-websocket-version': version } });
}
