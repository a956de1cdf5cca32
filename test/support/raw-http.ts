// A client on a raw socket: sends any bytes at any pace, ends as the test says, and reads any answer.
import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectSecure } from 'node:tls';
import { type Field, findField } from './fake-upstream/entry.ts';
import { playSteps, type Step } from './steps.ts';
import type { Teardown } from './teardown.ts';
import { type Found, waitFor } from './wait-for.ts';

export { createGate, fin, type Gate, pause, rst, type Step, silence } from './steps.ts';

/** One response as it came, 1xx included. */
export interface RawResponse {
  status: number;
  version: string;
  reason: string;
  headers: readonly Field[];
  /** Transfer coding removed. */
  body: Buffer;
  /** False while bytes are missing, or when the connection ended too early for its framing. */
  complete: boolean;
  /** The first header of that name, letter case ignored. */
  header(name: string): string | undefined;
  text(): string;
  json(): unknown;
}

export interface RawExchange {
  responses: RawResponse[];
  /** The server ended the connection (before we did), and how. */
  closedByServer: boolean;
  closedHow: 'fin' | 'rst' | undefined;
  /** All bytes that came. */
  raw: Buffer;
  /** Bytes after the last response that are none. */
  rest: Buffer;
}

export interface RawOptions {
  /** How many final (not 1xx, but for 101) responses to wait for; default 1. `close`: read until the server ends the connection. */
  until?: number | 'close';
  /** Default 3 s. Past it the exchange is given as it stands. */
  deadlineMs?: number;
  /** The requests are HEAD: responses have no body whatever they announce. */
  head?: boolean;
  host?: string;
  /** Speaks TLS, with these options. */
  tls?: ConnectionOptions;
}

/** A raw connection that stays in the test's hands. */
export interface RawConnection {
  readonly socket: Socket;
  /** What has come back so far. */
  exchange(): RawExchange;
  /** Sends bytes, waits at pauses and gates, ends with `fin` or `rst`. */
  send(...steps: Step[]): Promise<void>;
  /** Waits until what has come back satisfies the probe. */
  waitFor<T>(probe: (exchange: RawExchange) => T, deadlineMs?: number): Promise<Found<T>>;
  /** Stops and resumes reading: the kernel's buffers fill and the server feels backpressure. */
  pause(): void;
  resume(): void;
  /** Ends our sending side only. */
  halfClose(): void;
  reset(): void;
  /** Closes both sides the orderly way. */
  close(): void;
}

/**
 * Sends `input` (bytes, or bytes with pauses, gates and an ending) on a connection of its own and gives what came back. When
 * the last response says `connection: close`, waits for that close, too.
 */
export async function rawRequest(
  port: number,
  input: string | Uint8Array | readonly Step[],
  options: RawOptions = {},
): Promise<RawExchange> {
  const { until = 1, deadlineMs = 10_000 } = options;
  const connection = await openRaw(port, options);
  const steps = typeof input === 'string' || input instanceof Uint8Array ? [input] : input;
  const done = (exchange: RawExchange) => {
    if (exchange.closedByServer || connection.socket.destroyed) return true;
    const final = exchange.responses.filter((response) => response.complete && isFinal(response));
    if (until === 'close' || final.length < until) return false;
    return !/close/i.test(final.at(-1)?.header('connection') ?? '');
  };
  const sent = connection.send(...steps);
  await connection.waitFor(done, deadlineMs).catch(() => {});
  connection.close();
  await sent;
  return connection.exchange();
}

/** Opens a connection to 127.0.0.1 that sends only what it is told; with `t` it is gone when that test ends. */
export async function openRaw(
  port: number,
  options: Pick<RawOptions, 'head' | 'host' | 'tls'> & { t?: Teardown } = {},
): Promise<RawConnection> {
  const place = { port, host: options.host ?? '127.0.0.1', allowHalfOpen: true, noDelay: true };
  const socket = options.tls === undefined ? connect(place) : connectSecure({ ...place, ...options.tls });
  const pieces: Buffer[] = [];
  const gone = new AbortController();
  let closedHow: 'fin' | 'rst' | undefined;
  let closedByUs = false;
  let parsed: RawExchange | undefined;

  options.t?.teardown(() => socket.destroy());
  socket.on('data', (bytes: Buffer) => {
    pieces.push(bytes);
    parsed = undefined;
  });
  const ended = (how: 'fin' | 'rst') => {
    if (!closedByUs) closedHow ??= how;
    parsed = undefined;
  };
  socket.on('end', () => ended('fin'));
  socket.on('error', () => ended('rst'));
  socket.on('close', () => gone.abort());
  await new Promise<void>((done, fail) => {
    socket.once(options.tls === undefined ? 'connect' : 'secureConnect', done);
    socket.once('error', fail);
  });

  function exchange(): RawExchange {
    if (parsed) return parsed;
    const raw = Buffer.concat(pieces);
    pieces.splice(0, pieces.length, raw);
    const { responses, rest } = parseResponses(raw, closedHow !== undefined, options.head);
    parsed = { responses, rest, raw, closedByServer: closedHow !== undefined, closedHow };
    return parsed;
  }

  return {
    socket,
    exchange,
    async send(...steps) {
      const outcome = await playSteps(socket, steps, gone.signal);
      if (outcome === 'rst') closedByUs = true;
    },
    waitFor: (probe, deadlineMs) =>
      waitFor(`an answer to satisfy ${String(probe)}`, () => probe(exchange()), deadlineMs),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    halfClose: () => void socket.end(),
    reset() {
      closedByUs = true;
      socket.resetAndDestroy();
    },
    close() {
      closedByUs = true;
      socket.destroy();
    },
  };
}

/** Reads as many responses as the bytes hold; `ended`: no more will come. Never throws. */
export function parseResponses(raw: Buffer, ended: boolean, head = false): { responses: RawResponse[]; rest: Buffer } {
  const responses: RawResponse[] = [];
  let rest = raw;
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n');
    const start = /^HTTP\/(\S+) (\S+) ?([^\r\n]*)\r\n/.exec(rest.toString('latin1', 0, Math.min(rest.length, 1024)));
    if (headEnd < 0 || !start) return { responses, rest };
    const [line, version = '', status = '', reason = ''] = start;
    const headers = parseFields(rest.toString('latin1', line.length, headEnd + 2));
    const bodiless = head || status.startsWith('1') || status === '204' || status === '304';
    const read = bodiless
      ? { body: Buffer.alloc(0), length: 0, complete: true }
      : readBody(rest.subarray(headEnd + 4), headers, ended);
    const { body, complete } = read;
    responses.push({
      status: Number(status),
      version,
      reason,
      headers,
      body,
      complete,
      header: (name) => findField(headers, name),
      text: () => body.toString(),
      json: () => JSON.parse(body.toString()),
    });
    rest = rest.subarray(headEnd + 4 + read.length);
    if (!complete) return { responses, rest };
  }
}

/** 1xx announces another response, but for 101, which ends HTTP on this connection. */
function isFinal({ status }: RawResponse): boolean {
  return status === 101 || status < 100 || status > 199;
}

interface BodyRead {
  body: Buffer;
  /** Bytes it takes on the wire. */
  length: number;
  complete: boolean;
}

function readBody(bytes: Buffer, headers: readonly Field[], ended: boolean): BodyRead {
  if (/chunked/i.test(findField(headers, 'transfer-encoding') ?? '')) return readChunks(bytes);
  const announced = findField(headers, 'content-length');
  if (announced === undefined) return { body: bytes, length: bytes.length, complete: ended };
  const body = bytes.subarray(0, Number(announced));
  return { body, length: body.length, complete: body.length === Number(announced) };
}

function readChunks(bytes: Buffer): BodyRead {
  const pieces: Buffer[] = [];
  const read = (length: number, complete: boolean) => ({ body: Buffer.concat(pieces), length, complete });
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    if (lineEnd < 0 || Number.isNaN(size)) return read(bytes.length, false);
    if (size === 0) {
      const end = bytes.indexOf('\r\n\r\n', lineEnd);
      return end < 0 ? read(bytes.length, false) : read(end + 4, true);
    }
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
    if (at > bytes.length) return read(bytes.length, false);
  }
}

function parseFields(text: string): Field[] {
  return text
    .split('\r\n')
    .filter(Boolean)
    .map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    });
}
