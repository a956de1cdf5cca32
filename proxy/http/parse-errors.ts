// Answers requests that node's HTTP parser gave up on, in the same envelope as every other refusal.
import type { Socket } from 'node:net';
import { plainAddress } from '../../domain/keys/client-address.ts';
import { type Refusal, refusal } from '../errors.ts';
import { answerRefusal, rawRefusal } from './answer-refusal.ts';
import { cut } from './cut.ts';
import { requestId } from './exchange.ts';
import type { Pipelining } from './pipelining.ts';

/** An answer to what never became an exchange. */
export interface AnsweredUnread {
  /** As its answer says it. */
  readonly id: string;
  readonly clientAddress: string;
  readonly refused: Refusal;
}

/** How long a refused client may go on sending before the connection is cut. Milliseconds. */
const lingerMs = 500;
/** How often: the parser fails anew with every read of up to 64 KiB. */
const lingerErrors = 256;

/**
 * Makes the handler of a server's `clientError`. Of a connection it acts on the first error only. `answered` is told of each answer to
 * what never became an exchange. The address in it is the socket's: headers that name another one were not read.
 */
export function answerParseErrors(
  pipelining: Pipelining,
  answered: (unread: AnsweredUnread) => void,
): (error: ParseError, socket: Socket) => void {
  const seen = new WeakMap<Socket, number>();
  return (error, socket) => {
    if (socket.destroyed) return;
    const earlier = seen.get(socket) ?? 0;
    if (error.code === 'ECONNRESET' || (earlier === 0 && !socket.writable)) {
      socket.destroy();
      return;
    }
    if (earlier === 0 && error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isExcused(pipelining, socket)) return;
    seen.set(socket, earlier + 1);
    if (earlier > lingerErrors) cut(socket, 'garbage');
    if (earlier > 0) return;
    const answer = (): void => {
      const refused = parseRefusal(error);
      const id = requestId(undefined);
      const clientAddress = plainAddress(socket.remoteAddress ?? '');
      socket.end(rawRefusal(refused, id));
      answered({ id, clientAddress, refused });
      // Reading on lets the client take the answer before the connection goes.
      socket.resume();
      setTimeout(() => socket.destroy(), lingerMs).unref();
    };
    const exchange = pipelining.current(socket);
    if (exchange === undefined) {
      answer();
      return;
    }
    const { request, response } = exchange;
    // Bytes after a request whose answer ends the connection are ignored.
    const isEnding = response.headersSent && !response.shouldKeepAlive;
    if (isEnding || error.code === 'HPE_CLOSED_CONNECTION') pipelining.endWith(socket, () => socket.destroySoon());
    // The broken request is a later one on this connection: those before it are answered first.
    else if (request.complete) pipelining.endWith(socket, answer);
    else if (response.headersSent) socket.destroy();
    else if (exchange.waiting?.broken) exchange.waiting.broken(parseRefusal(error));
    else answerRefusal(parseRefusal(error), exchange);
  };
}

function isExcused(pipelining: Pipelining, socket: Socket): boolean {
  return pipelining.excuse(socket) || pipelining.current(socket)?.waiting?.excuses?.() === true;
}

/** As node makes it. */
type ParseError = Error & { readonly code?: string; readonly rawPacket?: unknown };

/** The first byte of a handshake of TLS. */
const handshakeRecord = 22;

function parseRefusal({ code = '', rawPacket }: ParseError): Refusal {
  if (code === 'HPE_INVALID_METHOD' && rawPacket instanceof Uint8Array && rawPacket[0] === handshakeRecord)
    return refusal('malformed_request', { fill: { reason: 'it is TLS, and this port speaks HTTP without it' } });
  if (code === 'HPE_HEADER_OVERFLOW') return refusal('headers_too_large', { fill: { reason: 'at most 16 KiB' } });
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refusal('request_timeout');
  return refusal('malformed_request', { fill: { reason: reasons[code] ?? 'it breaks the HTTP/1.1 grammar' } });
}

const reasons: Readonly<Record<string, string>> = {
  HPE_INVALID_METHOD: 'its method is unknown',
  HPE_INVALID_VERSION: 'its HTTP version is unknown',
  HPE_INVALID_CONTENT_LENGTH: 'its Content-Length is not one whole number',
  HPE_UNEXPECTED_CONTENT_LENGTH: 'it has more than one length',
  HPE_INVALID_TRANSFER_ENCODING: 'its Transfer-Encoding is not "chunked"',
  HPE_INVALID_CHUNK_SIZE: 'a chunk size is not a number',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'its chunk extensions are too long',
  HPE_INVALID_HEADER_TOKEN: 'a header has characters that are not allowed',
  HPE_INVALID_EOF_STATE: 'it ended before its body was complete',
  HPE_INVALID_URL: 'its target is not a path',
};
