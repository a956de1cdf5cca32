// The connections to one origin: a client of undici's for each call that is open. The one used last is used next, so that those beyond the
// need fall idle and close. A request costs 3 to 5 % less than with undici's own pool, which asks all its clients in turn and is told of
// each call's end by an event.
import type { Dispatcher } from 'undici';
import { Connections } from './connections.ts';
import { Client, type Connector } from './undici.ts';

/** What is told of a call. */
export interface CallHandler extends Omit<Dispatcher.DispatchHandler, 'onBodySent'> {
  /** The request goes out on a connection that was kept from a call before; `onConnect` follows. */
  onReuse?(): void;
  /** Some of a body that is streamed was written. */
  onBodySent?(): void;
  /** All of the request was. */
  onRequestSent?(): void;
}

/** One connection. */
class PooledClient extends Client {
  /** The connection has carried a call. */
  isUsed = false;
}

export class ClientPool {
  /** scheme://host:port */
  readonly origin: string;
  readonly #connect: Connector;
  readonly #free = new Connections<PooledClient>();

  constructor(origin: string, connect: Connector) {
    this.origin = origin;
    this.#connect = connect;
  }

  /** Makes a call, on a new connection where none is free. Whatever goes wrong is told to the handler. */
  dispatch(options: Dispatcher.DispatchOptions, handler: CallHandler): boolean {
    const client = this.#free.pop() ?? this.#open();
    return client.dispatch(options, new Call(handler, client, this.#free));
  }

  /** The same, always on a new connection: those that are free may have been closed together. */
  dispatchFresh(options: Dispatcher.DispatchOptions, handler: CallHandler): boolean {
    const client = this.#open();
    return client.dispatch(options, new Call(handler, client, this.#free));
  }

  /** Opens a connection that is no call's, such as that of a WebSocket. It is not kept. */
  openSocket(done: Parameters<Connector>[1]): void {
    const { protocol, host, hostname, port } = new URL(this.origin);
    const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
    this.#connect({ protocol, host, hostname: bare, port }, done);
  }

  /** How many connections have no call. */
  get free(): number {
    return this.#free.length;
  }

  /** Closes the connections without a call. */
  closeFree(): void {
    this.#free.closeFree();
  }

  /** How many connections there are. */
  get open(): number {
    return this.#free.open;
  }

  /** The name of the origin leads to these addresses now: connections elsewhere end after a while, none in the middle of a call. */
  compare(addresses: ReadonlySet<string>): void {
    this.#free.compare(addresses);
  }

  #open(): PooledClient {
    const connect: Connector = (options, done) => {
      this.#connect(options, (...ending) => {
        const [error, socket] = ending;
        if (error === null) this.#free.connected(client, socket.remoteAddress);
        done(...ending);
      });
    };
    // Deadlines are ours (upstream/deadlines.ts): undici's own tick too coarsely, so they are off.
    const client = new PooledClient(this.origin, { connect, headersTimeout: 0, bodyTimeout: 0, pipelining: 1 });
    client.on('connect', () => {
      client.isUsed = false;
    });
    client.on('disconnect', () => this.#free.disconnected(client));
    return client;
  }
}

/** Tells everything to the handler, and frees the client when the call is complete. A client whose call failed has lost its connection. */
class Call implements Dispatcher.DispatchHandler {
  readonly #handler: CallHandler;
  readonly #client: PooledClient;
  readonly #free: Connections<PooledClient>;

  constructor(handler: CallHandler, client: PooledClient, free: Connections<PooledClient>) {
    this.#handler = handler;
    this.#client = client;
    this.#free = free;
  }

  onConnect(abort: (reason?: Error) => void): void {
    if (this.#client.isUsed) this.#handler.onReuse?.();
    this.#client.isUsed = true;
    this.#handler.onConnect?.(abort);
  }

  onBodySent(): void {
    this.#handler.onBodySent?.();
  }

  onRequestSent(): void {
    this.#handler.onRequestSent?.();
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean {
    return this.#handler.onHeaders?.(status, headers, resume, statusText) ?? true;
  }

  onData(chunk: Buffer): boolean {
    return this.#handler.onData?.(chunk) ?? true;
  }

  onComplete(trailers: string[] | null): void {
    this.#free.push(this.#client);
    this.#handler.onComplete?.(trailers);
  }

  onError(error: Error): void {
    this.#handler.onError?.(error);
  }
}
