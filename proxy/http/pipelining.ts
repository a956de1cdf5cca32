// One request at a time per connection: pipelined requests wait for the answer before them, so they are answered in order,
// each counted for itself, and one socket can never hold a thousand upstream calls.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createChunkMeter } from './chunk-meter.ts';
import { cut } from './cut.ts';
import { closeExchange, type Exchange } from './exchange.ts';
import { holdSocket } from './hold-socket.ts';

export interface Pipelining {
  /**
   * Drops the bytes behind this request in the same read: its answer is the last one on its connection, so the client
   * sends the rest again.
   */
  last: (request: IncomingMessage) => void;
  /** Serves the request now, or after those before it on its connection. */
  take: (request: IncomingMessage, response: ServerResponse) => void;
  /** The request being served on a connection. */
  current: (socket: Socket) => Exchange | undefined;
  /** Connections with a request being served. */
  sockets: () => Iterable<Socket>;
  /** Requests being served on all connections. */
  open: () => number;
  /** Some answer is complete but not yet taken by its client. */
  flushing: () => boolean;
  /** From now on a connection ends with the answer it is waiting for. */
  drain: () => void;
  /** Reads no more from a connection, and calls `then` once all requests that came over it whole are answered. */
  endWith: (socket: Socket, then: () => void) => void;
  /** Ends the connection once all requests that came over it whole are answered. */
  letGo: (socket: Socket) => void;
  /** Whether a request that is late is so because its connection was not read. It gets `lateMs` more once that is read again. */
  excuse: (socket: Socket) => boolean;
}

/** The requests of a connection: the one being served, if any, and those behind it. Kept as long as the connection. */
interface Turn {
  exchange: Exchange | undefined;
  waiting: [IncomingMessage, ServerResponse][];
  /** The memory of the waiting requests behind it, in bytes as `weigh` counts them. */
  bytes: number;
  /** Lets the connection be read again; undefined while it is. */
  release: (() => void) | undefined;
  /** The connection takes no more requests; called once those before are answered. */
  ending: (() => void) | undefined;
  late: boolean;
}

/** The most memory of a waiting request besides its body, in bytes: its objects and its head. */
const requestBytes = 4 * 1024;
/** Longest body of a request that may wait. Bytes. */
const maxWaitingBody = 32 * 1024;
/** Beyond this a connection is not read until some of what waits was served; with small requests it is the 16th. Bytes. */
const pauseBytes = 64 * 1024;
/**
 * Beyond this the connection is cut, with small requests at the 320th. The parser hands over all requests of a read at once, 64 KiB, whether
 * the connection is paused or not: of model calls that are 260 at most. Bytes.
 */
const cutBytes = 1280 * 1024;
/** On all connections together; the one that would exceed it is cut. Bytes. */
const cutBytesInAll = 32 * 1024 * 1024;
/** How long a request may take that was not read for a while. Milliseconds. */
const lateMs = 10_000;

type Open = (request: IncomingMessage, response: ServerResponse) => Exchange;

/** `open` makes the exchange of a request, `serve` answers it. */
export function createPipelining(open: Open, serve: (exchange: Exchange) => void): Pipelining {
  const line = new Line(open, serve);
  const { turns } = line;
  const lasts = new WeakSet<IncomingMessage>();
  return {
    last: (request) => void lasts.add(request),
    take(request, response) {
      const { socket } = request;
      if (lasts.has(request)) response.shouldKeepAlive = false;
      // The parser may call this after the connection was cut.
      if (socket.destroyed) return;
      const turn = line.turnOf(socket);
      if (turn.exchange === undefined) line.begin(socket, request, response, turn);
      else line.wait(turn, request, response);
    },
    current: (socket) => turns.get(socket)?.exchange,
    sockets: () => line.serving(),
    open: () => line.open,
    flushing: () => [...line.exchanges()].some(({ response }) => isFlushing(response)),
    drain() {
      line.isDraining = true;
      for (const { response, waiting } of line.exchanges()) {
        if (!response.headersSent) response.shouldKeepAlive = false;
        waiting?.draining?.();
      }
    },
    letGo(socket) {
      const turn = turns.get(socket);
      if (turn?.exchange === undefined) {
        socket.destroySoon();
        return;
      }
      if (!turn.exchange.response.headersSent) turn.exchange.response.shouldKeepAlive = false;
      line.endWith(socket, turn, () => socket.destroySoon());
    },
    endWith(socket, then) {
      const turn = turns.get(socket);
      if (turn?.exchange !== undefined) line.endWith(socket, turn, then);
    },
    excuse(socket) {
      const turn = turns.get(socket);
      if (turn?.release === undefined || turn.ending !== undefined) return false;
      turn.late = true;
      return true;
    },
  };
}

/** The turns of all connections: begun, waited for and ended. */
class Line {
  readonly turns = new Map<Socket, Turn>();
  /** Requests being served. */
  open = 0;
  isDraining = false;
  #bytesInAll = 0;
  readonly #open: Open;
  readonly #serve: (exchange: Exchange) => void;

  constructor(open: Open, serve: (exchange: Exchange) => void) {
    this.#open = open;
    this.#serve = serve;
  }

  turnOf(socket: Socket): Turn {
    const known = this.turns.get(socket);
    if (known !== undefined) return known;
    const turn: Turn = {
      exchange: undefined,
      waiting: [],
      bytes: 0,
      release: undefined,
      ending: undefined,
      late: false,
    };
    this.turns.set(socket, turn);
    socket.once('close', () => this.turns.delete(socket));
    return turn;
  }

  *exchanges(): Generator<Exchange, void> {
    for (const { exchange } of this.turns.values()) if (exchange !== undefined) yield exchange;
  }

  *serving(): Generator<Socket, void> {
    for (const [socket, { exchange }] of this.turns) if (exchange !== undefined) yield socket;
  }

  begin(socket: Socket, request: IncomingMessage, response: ServerResponse, turn: Turn): void {
    const exchange = this.#open(request, response);
    if (turn.exchange === undefined) this.open += 1;
    turn.exchange = exchange;
    response.on('close', () => {
      closeExchange(exchange);
      this.#end(socket, turn);
    });
    if (this.isDraining) response.shouldKeepAlive = false;
    this.#serve(exchange);
  }

  endWith(socket: Socket, turn: Turn, then: () => void): void {
    turn.ending ??= then;
    hold(socket, turn);
    const last = turn.waiting.at(-1)?.[0];
    if (last === undefined || last.complete) return;
    turn.waiting.pop();
    this.weighIn(turn, -weigh(last));
  }

  /** Puts a request behind those that its connection has already sent, as far as there is room for it. */
  wait(turn: Turn, request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    this.weighIn(turn, weigh(request));
    if (turn.bytes >= cutBytes || this.#bytesInAll >= cutBytesInAll) {
      cut(socket, 'pipelined');
      return;
    }
    if (turn.ending === undefined && !isLong(request)) turn.waiting.push([request, response]);
    else {
      // Its body would stop this connection from being read, and with it the news that the client left.
      request.on('data', meterOf(request));
      turn.ending ??= () => socket.destroySoon();
    }
    if (turn.bytes >= pauseBytes) hold(socket, turn);
  }

  weighIn(turn: Turn, bytes: number): void {
    turn.bytes += bytes;
    this.#bytesInAll += bytes;
  }

  #end(socket: Socket, turn: Turn): void {
    // A connection has one request served per turn of the event loop, so that it cannot keep others waiting.
    if (turn.waiting.length > 0) setImmediate(this.#serveNext, socket, turn);
    else this.#finish(socket, turn);
  }

  /** A property, because it is called without its object. */
  readonly #serveNext = (socket: Socket, turn: Turn): void => {
    const next = isOver(socket) ? undefined : turn.waiting.shift();
    if (next === undefined) {
      this.#finish(socket, turn);
      return;
    }
    this.weighIn(turn, -weigh(next[0]));
    if (turn.bytes <= pauseBytes / 2 && turn.ending === undefined) turn.release?.();
    this.begin(socket, next[0], next[1], turn);
  };

  #finish(socket: Socket, turn: Turn): void {
    const { ending, late } = turn;
    turn.exchange = undefined;
    turn.ending = undefined;
    turn.late = false;
    this.open -= 1;
    if (turn.bytes > 0) this.weighIn(turn, -turn.bytes);
    if (isOver(socket)) return;
    turn.release?.();
    if (ending) ending();
    else if (this.isDraining) socket.end();
    else if (late) setTimeout(() => turn.exchange === undefined && socket.destroy(), lateMs).unref();
  }
}

/** Reads no more from the connection until `turn.release`. */
function hold(socket: Socket, turn: Turn): void {
  if (turn.release !== undefined) return;
  const release = holdSocket(socket);
  turn.release = () => {
    turn.release = undefined;
    release();
  };
}

/** A connection that ends with an answer has no next request, whatever the client sent behind it. */
function isOver(socket: Socket): boolean {
  return socket.destroyed || socket.writableEnded;
}

function isFlushing(response: ServerResponse): boolean {
  return response.writableEnded && !response.writableFinished;
}

/** The memory of a waiting request, in bytes; the body of a long one is not kept. */
function weigh(request: IncomingMessage): number {
  return isLong(request) ? requestBytes : requestBytes + Number(request.headers['content-length'] ?? 0);
}

/** Whether a request's body does not fit into the buffers it may wait in. */
function isLong({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > maxWaitingBody;
}

/** Drops a body; one in tiny chunks ends the connection. */
function meterOf({ socket, headers }: IncomingMessage): (chunk: Buffer) => void {
  if (headers['transfer-encoding'] === undefined) return () => undefined;
  const meter = createChunkMeter(socket);
  return (chunk) => meter(chunk.length);
}
