// A request to become a WebSocket: HTTP until its answer, so that every refusal is an ordinary error. Node hands it over without a response
// and without reading its connection any further.
import type { IncomingMessage, ServerResponse as Response } from 'node:http';
import type { Socket } from 'node:net';
import { ServerResponse } from '../../plane/http.ts';
import type { Exchange } from '../http/exchange.ts';

/** Bytes that a client may send before it has an answer; it should send none. */
const mostEarlyBytes = 64 * 1024;
/** How long a client may take to read its refusal. Milliseconds. */
const lingerMs = 5_000;

export class Handshake {
  readonly request: IncomingMessage;
  readonly response: Response;
  readonly socket: Socket;
  readonly #early: Buffer[];
  #earlyBytes: number;
  #exchange: Exchange | undefined;
  #isOver = false;

  constructor(request: IncomingMessage, socket: Socket, head: Buffer) {
    this.request = request;
    this.socket = socket;
    this.#early = [head];
    this.#earlyBytes = head.length;
    this.response = new ServerResponse(request);
    this.response.shouldKeepAlive = false;
    this.response.assignSocket(socket);
    this.response.once('finish', this.#finish);
    socket.setTimeout(0);
    // Read, so that the news that the client has left comes.
    socket.on('data', this.#take).on('end', this.#leave).on('close', this.#leave).on('error', this.#leave);
    socket.resume();
  }

  /** Tells this exchange, once, that the client has left before its answer is complete. */
  watch(exchange: Exchange): void {
    this.#exchange = exchange;
  }

  /** Lets go of the connection; gives what has come over it. */
  release(): Buffer {
    this.#isOver = true;
    const { socket } = this;
    socket.pause();
    socket.off('data', this.#take).off('end', this.#leave).off('close', this.#leave).off('error', this.#leave);
    this.response.detachSocket(socket);
    return Buffer.concat(this.#early);
  }

  readonly #take = (piece: Buffer): void => {
    this.#earlyBytes += piece.length;
    this.#early.push(piece);
    if (this.#earlyBytes > mostEarlyBytes) this.socket.pause();
  };

  readonly #leave = (): void => {
    if (this.#isOver) return;
    this.#isOver = true;
    this.socket.destroy();
    if (this.#exchange === undefined) return;
    this.#exchange.gone = true;
    this.#exchange.waiting?.gone();
  };

  readonly #finish = (): void => {
    this.#isOver = true;
    this.socket.destroySoon();
    const cut = setTimeout(() => this.socket.destroy(), lingerMs);
    this.socket.once('close', () => clearTimeout(cut));
  };
}
