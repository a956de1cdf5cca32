// One request at a time per connection: pipelined requests wait for the answer before them, so they are answered in order,
// each counted for itself, and one socket can never hold a thousand upstream calls.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { closeExchange, type Exchange } from './exchange.ts';

/** A request being served, and those waiting behind it. */
export interface Turn {
  readonly exchange: Exchange;
  waiting: [IncomingMessage, ServerResponse][] | undefined;
}

export interface Turns {
  /** Serves the request now, or after those before it on its connection. */
  take: (request: IncomingMessage, response: ServerResponse) => void;
  /** The request being served on a connection. */
  current: (socket: Socket) => Turn | undefined;
  /** Requests being served on all connections. */
  open: () => number;
  /** Some answer is complete but not yet taken by its client. */
  flushing: () => boolean;
  /** From now on a connection ends with the answer it is waiting for. */
  drain: () => void;
}

/** Waiting requests per connection beyond which it is not read until some were served. */
const maxWaiting = 64;
/** Longest body of a request that may wait. */
const maxWaitingBytes = 32 * 1024;

/** `open` makes the exchange of a request, `serve` answers it. */
export function createTurns(
  open: (request: IncomingMessage, response: ServerResponse) => Exchange,
  serve: (exchange: Exchange) => void,
): Turns {
  const turns = new Map<Socket, Turn>();
  let draining = false;

  const begin = (
    socket: Socket,
    request: IncomingMessage,
    response: ServerResponse,
    waiting: Turn['waiting'],
  ): void => {
    const exchange = open(request, response);
    const turn: Turn = { exchange, waiting };
    turns.set(socket, turn);
    response.on('close', () => {
      closeExchange(exchange);
      end(socket, turn);
    });
    if (draining) response.shouldKeepAlive = false;
    serve(exchange);
  };
  const end = (socket: Socket, { waiting }: Turn): void => {
    // A connection that ends with this answer has no next request, whatever the client sent behind it.
    const next = socket.destroyed || socket.writableEnded ? undefined : waiting?.shift();
    if (next === undefined) {
      turns.delete(socket);
      if (draining) socket.end();
    } else begin(socket, next[0], next[1], waiting);
    if (waiting?.length === maxWaiting / 2) socket.resume();
  };
  return {
    take(request, response) {
      const { socket } = request;
      const turn = turns.get(socket);
      if (turn === undefined) {
        begin(socket, request, response, undefined);
        return;
      }
      turn.waiting ??= [];
      if (isLong(request)) {
        // Its body would stop this connection from being read, and with it the news that the client left.
        request.resume();
        turn.exchange.response.once('finish', () => socket.destroySoon());
      } else if (turn.waiting.push([request, response]) === maxWaiting) socket.pause();
    },
    current: (socket) => turns.get(socket),
    open: () => turns.size,
    flushing: () => [...turns.values()].some(({ exchange }) => isFlushing(exchange.response)),
    drain() {
      draining = true;
      for (const { exchange } of turns.values()) {
        if (!exchange.response.headersSent) exchange.response.shouldKeepAlive = false;
      }
    },
  };
}

function isFlushing(response: ServerResponse): boolean {
  return response.writableEnded && !response.writableFinished;
}

/** Whether a request's body does not fit into the buffers it may wait in. */
function isLong({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > maxWaitingBytes;
}
