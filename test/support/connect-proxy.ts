// An HTTP proxy that opens tunnels on CONNECT: to a port of this machine, whatever name was asked for. It writes down what it was asked.
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { listen } from './ports.ts';
import type { Teardown } from './teardown.ts';

export interface ConnectProxy {
  readonly port: number;
  /** What was asked for, as `host:port`, with the credentials. */
  readonly asked: { readonly authority: string; readonly authorization: string | undefined }[];
  /** What it answers from now on; undefined: it opens the tunnel. `silent`: it never answers. */
  answer: number | 'silent' | undefined;
}

export interface ConnectProxyOptions {
  readonly t: Teardown;
  /** Where all tunnels lead. */
  readonly port: number;
  /** It speaks TLS itself. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

export async function startConnectProxy({ t, port, tls }: ConnectProxyOptions): Promise<ConnectProxy> {
  const sockets = new Set<Socket>();
  const server = tls === undefined ? createHttpServer() : createHttpsServer(tls);
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  };
  server.on('connection', keep);
  server.on('tlsClientError', () => undefined);
  const proxy: ConnectProxy = { port: await listen(server), asked: [], answer: undefined };
  server.on('connect', ({ url = '', headers }: IncomingMessage, socket: Socket) => {
    keep(socket);
    proxy.asked.push({ authority: url, authorization: headers['proxy-authorization'] });
    if (proxy.answer === 'silent') return;
    if (proxy.answer !== undefined) {
      socket.end(`HTTP/1.1 ${proxy.answer} No\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const target = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(target).pipe(socket);
    });
    keep(target);
  });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return proxy;
}
