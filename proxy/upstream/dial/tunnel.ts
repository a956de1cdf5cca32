// Connections through an HTTP proxy: a tunnel that it opens on CONNECT (RFC 9110, 9.3.6), for https and for http alike.
import type { Socket } from 'node:net';
import { Client, type Connector, errors, requestTunnel } from '../undici.ts';

/** A proxy on the way to a provider. */
export interface HttpProxy {
  /** scheme://host:port */
  readonly origin: string;
  /** The value of Proxy-Authorization; undefined: it asks for none. */
  readonly authorization: string | undefined;
}

/** The connectors of the two parts of a tunnel. */
export interface TunnelConnectors {
  /** To the proxy. */
  readonly toProxy: Connector;
  /** TLS to the provider, over a tunnel. */
  readonly secure: Connector;
}

type Options = Parameters<Connector>[0];
type Done = Parameters<Connector>[1];

/**
 * Returns a connector that opens a tunnel through the proxy. Failures go to its callback with the code
 * PROXY_UNREACHABLE, PROXY_REFUSED or PROXY_UNAUTHORIZED. `timeoutMs` covers the way to the provider.
 */
export function tunnelConnector(proxy: HttpProxy, connectors: TunnelConnectors, timeoutMs: number): Connector {
  return (options, done) => new Tunnel(options, done, connectors).open(proxy, timeoutMs);
}

class Tunnel {
  readonly #options: Options;
  readonly #done: Done;
  readonly #connectors: TunnelConnectors;
  readonly #late = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #socket: Socket | undefined;
  #isOver = false;

  constructor(options: Options, done: Done, connectors: TunnelConnectors) {
    this.#options = options;
    this.#done = done;
    this.#connectors = connectors;
  }

  open(proxy: HttpProxy, timeoutMs: number): void {
    const { hostname, protocol, port } = this.#options;
    const host = hostname.includes(':') ? `[${hostname}]` : hostname;
    const authority = `${host}:${port || (protocol === 'https:' ? 443 : 80)}`;
    this.#timer = setTimeout(() => this.#expire(), timeoutMs);
    const client = new Client(proxy.origin, {
      connect: this.#connectors.toProxy,
      headersTimeout: 0,
      bodyTimeout: 0,
      pipelining: 1,
    });
    const credentials = proxy.authorization === undefined ? {} : { 'proxy-authorization': proxy.authorization };
    const headers = { host: authority, ...credentials };
    const request = { origin: proxy.origin, path: authority, headers, signal: this.#late.signal };
    requestTunnel(client, request, (error, answer) => {
      if (error !== null) this.#fail(isKnown(error) ? error : failed('PROXY_UNREACHABLE', error));
      else this.#take(answer.statusCode, answer.socket as Socket);
    });
  }

  /** The proxy has answered. */
  #take(status: number, socket: Socket): void {
    this.#socket = socket;
    // Errors of a tunnel that is no longer used are ignored.
    socket.on('error', () => undefined);
    if (this.#isOver) socket.destroy();
    else if (status < 200 || status > 299) {
      this.#fail(failed(status === 407 ? 'PROXY_UNAUTHORIZED' : 'PROXY_REFUSED', new Error(`status ${status}`)));
    } else if (this.#options.protocol !== 'https:') this.#succeed(socket);
    else {
      this.#connectors.secure({ ...this.#options, httpSocket: socket }, (error, secured) => {
        if (error === null) this.#succeed(secured);
        else this.#fail(error);
      });
    }
  }

  #expire(): void {
    this.#fail(new errors.ConnectTimeoutError());
    this.#late.abort();
  }

  #succeed(socket: Socket): void {
    if (this.#end()) this.#done(null, socket);
    else socket.destroy();
  }

  #fail(error: Error): void {
    this.#socket?.destroy();
    if (this.#end()) this.#done(error, null);
  }

  /** False when it was over already. */
  #end(): boolean {
    clearTimeout(this.#timer);
    const isFirst = !this.#isOver;
    this.#isOver = true;
    return isFirst;
  }
}

/** Failures whose own words are better than that the proxy could not be reached. */
function isKnown(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ERR_IP_BLOCKED' || error.code === 'EMFILE' || error.code === 'UND_ERR_CONNECT_TIMEOUT';
}

function failed(code: string, cause: Error): Error {
  return Object.assign(new Error('the HTTP proxy opened no tunnel', { cause }), { code });
}
