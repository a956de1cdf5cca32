// One request at a time per connection: pipelined requests wait for the answer before them, so they are answered in order,
// each counted for itself, and one socket can never hold a thousand upstream calls.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** A request being served, and those waiting behind it. */
interface Turn {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly waiting: [IncomingMessage, ServerResponse][];
}

export interface Turns {
  /** Serves the request now, or after those before it on its connection. */
  take: (request: IncomingMessage, response: ServerResponse) => void;
  /** The request being served on a connection. */
  current: (socket: Socket) => Turn | undefined;
  /** Requests being served on all connections. */
  open: () => number;
}

/** Waiting requests per connection beyond which it is not read until some were served. */
const maxWaiting = 64;

export function createTurns(serve: (request: IncomingMessage, response: ServerResponse) => void): Turns {
  const turns = new Map<Socket, Turn>();

  const begin = (socket: Socket, turn: Turn): void => {
    turns.set(socket, turn);
    turn.response.once('close', () => end(socket, turn));
    serve(turn.request, turn.response);
  };
  const end = (socket: Socket, { waiting }: Turn): void => {
    const next = socket.destroyed ? undefined : waiting.shift();
    if (next === undefined) turns.delete(socket);
    else begin(socket, { request: next[0], response: next[1], waiting });
    if (waiting.length === maxWaiting / 2) socket.resume();
  };
  return {
    take(request, response) {
      const { socket } = request;
      const turn = turns.get(socket);
      if (turn === undefined) begin(socket, { request, response, waiting: [] });
      else if (turn.waiting.push([request, response]) === maxWaiting) socket.pause();
    },
    current: (socket) => turns.get(socket),
    open: () => turns.size,
  };
}
