// Limits open requests per connection, and answers input that is not a valid request.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { STATUS_CODES } from '../plane/http.ts';
import { describeRefusal, type ErrorCode, type Refusal, refusal } from './errors.ts';

/** The most open requests of one connection. Browsers and proxies open more connections instead of pipelining. */
const mostOpenRequests = 16;

/** Headers of every answer: a browser must not guess another content type. */
export const safeHeaders = { 'x-content-type-options': 'nosniff' } as const;

const codeOfParserError: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** The number of open requests by connection. */
const openRequests = new WeakMap<Socket, number>();

/** Counts a request until its answer is sent. False: the connection has too many open requests and is closed. */
export function admitRequest({ socket, headers }: IncomingMessage, response: ServerResponse): boolean {
  // Node's parser loses the bytes behind an upgrade request: the client must send them again.
  if (headers.upgrade !== undefined) response.shouldKeepAlive = false;
  const open = (openRequests.get(socket) ?? 0) + 1;
  if (open > mostOpenRequests || socket.destroyed) {
    socket.destroy();
    return false;
  }
  openRequests.set(socket, open);
  response.once('close', () => openRequests.set(socket, (openRequests.get(socket) ?? 1) - 1));
  return true;
}

/** Answers an unsupported `Expect` header. */
export function refuseExpectation(_: IncomingMessage, response: ServerResponse): void {
  const { status, body } = errorResponse(refusal('expectation_failed'));
  response.writeHead(status, {
    ...safeHeaders,
    'content-type': 'application/json; charset=utf-8',
    connection: 'close',
  });
  response.end(body);
}

/** Answers input that the HTTP parser rejects, and closes the connection; closes at once when more such input follows. */
export function refuseUnparsed(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, body } = errorResponse(refusal(codeOfParserError[error.code ?? ''] ?? 'malformed_request'));
  const safe = Object.entries(safeHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n${safe.join('')}` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}

function errorResponse(problem: Refusal): { status: number; body: string } {
  return { status: problem.status, body: JSON.stringify(describeRefusal(problem)) };
}
