// What one connection may ask of the control plane: a few requests at once, and one answer to what is no request.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { STATUS_CODES } from '../plane/http.ts';
import { describeRefusal, type ErrorCode, type Refusal, refusal } from './errors.ts';

/** Requests of one connection that may wait for their answers. Browsers and proxies do not pipeline: they open more connections. */
const mostOpenRequests = 16;

/** On every answer: no browser shall guess that it is something else than it says. */
export const safeHeaders = { 'x-content-type-options': 'nosniff' } as const;

const codeOfParserError: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** How many requests of a connection are not answered yet. */
const openRequests = new WeakMap<Socket, number>();

/** Counts a request until its answer is out. False: its connection has too many open, and is cut. */
export function admitRequest({ socket }: IncomingMessage, response: ServerResponse): boolean {
  const open = (openRequests.get(socket) ?? 0) + 1;
  if (open > mostOpenRequests || socket.destroyed) {
    socket.destroy();
    return false;
  }
  openRequests.set(socket, open);
  response.once('close', () => openRequests.set(socket, (openRequests.get(socket) ?? 1) - 1));
  return true;
}

/** Answers an expectation that cannot be met. */
export function refuseExpectation(_: IncomingMessage, response: ServerResponse): void {
  const { status, body } = textOf(refusal('expectation_failed'));
  response.writeHead(status, {
    ...safeHeaders,
    'content-type': 'application/json; charset=utf-8',
    connection: 'close',
  });
  response.end(body);
}

/** Answers what never became a request; the connection ends with it, at once when still more of that comes. */
export function refuseUnparsed(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, body } = textOf(refusal(codeOfParserError[error.code ?? ''] ?? 'malformed_request'));
  const safe = Object.entries(safeHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n${safe.join('')}` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

function textOf(problem: Refusal): { status: number; body: string } {
  return { status: problem.status, body: JSON.stringify(describeRefusal(problem)) };
}
