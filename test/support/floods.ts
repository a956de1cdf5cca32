// Hostile clients: each opens connections and continues until it is stopped, as fast as the gateway allows.
import { connect, type Socket } from 'node:net';
import { chatCall, chatHead } from './chat-call.ts';
import type { Teardown } from './teardown.ts';

export interface Flood {
  /** Connections that the gateway has ended so far. */
  readonly ended: number;
  /** Bytes that the kernel has taken so far. */
  readonly sentBytes: number;
  /** Ends all connections and opens no more. */
  stop(): void;
}

export interface FloodOptions {
  /** How many connections at a time; default 1. */
  readonly connections?: number;
  /** A connection that was ended is opened anew; default true. */
  readonly again?: boolean;
}

interface Behaviour extends FloodOptions {
  /** Sent first, then `repeat` without end, or what it gives each time. */
  readonly first: string;
  readonly repeat: string | (() => string);
  /** After so many bytes of it a connection says nothing more. */
  readonly mostBytes?: number;
  /** Whether answers are read. */
  readonly reads: boolean;
  /** Time between two repeats; without it the kernel sets the pace. Milliseconds. */
  readonly everyMs?: number;
}

const host = 'Host: gateway.test\r\n';
const writeBytes = 64 * 1024;
const mebibyte = 2 ** 20;
/** Time before a connection is opened anew. */
const againMs = 5;

/** Requests to the control plane without a key, pipelined on each connection. `padding`: bytes of a header of no meaning. */
export function pipelineAdmin(
  t: Teardown,
  port: number,
  { padding = 0, ...options }: FloodOptions & Padded = {},
): Flood {
  return flood(t, port, { first: '', repeat: get('/admin/x', padding), reads: true, ...options });
}

/** Requests with chunked bodies behind a stream that has no end; `reads`: whether the stream is read. */
export function pipelineBehindStream(
  t: Teardown,
  port: number,
  { padding = 0, reads, ...options }: FloodOptions & Padded & { readonly reads: boolean },
): Flood {
  const chunked = get('/health', padding).replace(/\r\n$/, 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n');
  return flood(t, port, { first: streamCall, repeat: chunked, reads, ...options });
}

/** One body in chunks of a byte each, to a path that needs no key; with `isCall` to a model, with one. */
export function sendTinyChunks(
  t: Teardown,
  port: number,
  { isCall = false, ...options }: FloodOptions & { readonly isCall?: boolean } = {},
): Flood {
  const open = `POST /health HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n`;
  return flood(t, port, { first: isCall ? chatHead('chunked') : open, repeat: '1\r\n \r\n', reads: true, ...options });
}

/** Bytes that are no HTTP behind a stream that has no end. */
export function sendGarbage(t: Teardown, port: number, options: FloodOptions = {}): Flood {
  return flood(t, port, { first: streamCall, repeat: '\x00garbage\x01', reads: true, ...options });
}

/** Never reads the stream of a model, and sends a byte of a next request's head from time to time. */
export function dripBehindUnread(
  t: Teardown,
  port: number,
  { everyMs, model = 'fake-small', ...options }: FloodOptions & { readonly everyMs: number; readonly model?: string },
): Flood {
  const call = chatCall({ model, stream: true, messages: [] });
  return flood(t, port, { first: `${call}GET /`, repeat: 'x', reads: false, everyMs, ...options });
}

/** Connections that ask once for `/health` and then say nothing more; an ended one is not opened anew. */
export function openIdle(t: Teardown, port: number, connections: number): Flood {
  return flood(t, port, { first: get('/health', 0), repeat: '', reads: true, connections, again: false });
}

/** Bodies of 1 MiB for the control plane without a key, of which the last byte never comes. */
export function sendAdminBodies(t: Teardown, port: number, options: FloodOptions = {}): Flood {
  const head = `POST /admin/auth-keys HTTP/1.1\r\n${host}Content-Type: application/json\r\nContent-Length: ${mebibyte}\r\n\r\n`;
  return flood(t, port, { first: head, repeat: ' ', mostBytes: mebibyte - 1, reads: true, ...options });
}

/** Bodies of a consumer with a key, of which the last byte never comes. */
export function sendModelBodies(
  t: Teardown,
  port: number,
  { userPath, bytes, ...options }: FloodOptions & { readonly userPath: string; readonly bytes: number },
): Flood {
  const head = chatHead(bytes, { 'X-Gateway-User-Path': userPath });
  return flood(t, port, { first: head, repeat: ' ', mostBytes: bytes - 1, reads: true, ...options });
}

/** Scrapes of the metrics, on each connection one every so many milliseconds. */
export function scrapeMetrics(
  t: Teardown,
  port: number,
  { everyMs, ...options }: FloodOptions & { readonly everyMs: number },
): Flood {
  return flood(t, port, { first: '', repeat: get('/metrics', 0), reads: true, everyMs, ...options });
}

/** Calls of a model in the name of ever new children of a user path, on each connection one every so many milliseconds. */
export function nameChildren(
  t: Teardown,
  port: number,
  {
    template,
    model,
    everyMs,
    ...options
  }: FloodOptions & { readonly template: string; readonly model: string; readonly everyMs: number },
): Flood {
  let child = 0;
  const repeat = (): string => {
    child += 1;
    return chatCall({ model, messages: [] }, { 'X-Gateway-User-Path': `${template}/${process.pid}-${child}` });
  };
  return flood(t, port, { first: '', repeat, reads: true, everyMs, ...options });
}

interface Padded {
  readonly padding?: number;
}

const streamCall = chatCall({ model: 'fake-small', stream: true, messages: [] });

function get(path: string, padding: number): string {
  const header = padding === 0 ? '' : `X-Padding: ${'x'.repeat(padding)}\r\n`;
  return `GET ${path} HTTP/1.1\r\n${host}${header}\r\n`;
}

/** The bytes of each write: as much as fits into one, where the kernel sets the pace. */
function pieces({ repeat, everyMs }: Behaviour): () => Buffer {
  if (typeof repeat !== 'string') return () => Buffer.from(repeat(), 'latin1');
  const times = everyMs === undefined && repeat !== '' ? Math.ceil(writeBytes / repeat.length) : 1;
  const piece = Buffer.from(repeat.repeat(times), 'latin1');
  return () => piece;
}

function flood(t: Teardown, port: number, behaviour: Behaviour): Flood {
  const { first, reads, everyMs, mostBytes = Number.POSITIVE_INFINITY, connections = 1, again = true } = behaviour;
  const piece = pieces(behaviour);
  const sockets = new Set<Socket>();
  let isStopped = false;
  let ended = 0;
  let goneBytes = 0;
  const taken = (socket: Socket): number => socket.bytesWritten - socket.writableLength;

  const begin = (): void => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let timer: NodeJS.Timeout | undefined;
    let left = mostBytes;
    const write = (): void => {
      if (socket.destroyed) return;
      const bytes = piece().subarray(0, left);
      left -= bytes.length;
      if (socket.write(bytes)) next();
    };
    const next = (): void => {
      if (left <= 0 || behaviour.repeat === '') return;
      if (everyMs === undefined) setImmediate(write);
      else timer = setTimeout(write, everyMs);
    };
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('drain', next);
    socket.on('connect', () => socket.write(first, () => next()));
    if (reads) socket.resume();
    socket.on('close', () => {
      clearTimeout(timer);
      sockets.delete(socket);
      goneBytes += taken(socket);
      if (isStopped) return;
      ended += 1;
      if (again) setTimeout(() => isStopped || begin(), againMs);
    });
  };
  const stop = (): void => {
    isStopped = true;
    for (const socket of sockets) socket.destroy();
  };
  t.teardown(stop);
  for (let count = 0; count < connections; count += 1) begin();
  return {
    get ended() {
      return ended;
    },
    get sentBytes() {
      return [...sockets].reduce((sum, socket) => sum + taken(socket), goneBytes);
    },
    stop,
  };
}
