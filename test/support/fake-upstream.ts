// A provider on a raw socket: it answers like a real one, misbehaves when told to, and keeps a ledger of all bytes.
import { createServer, type Socket } from 'node:net';
import { type Behaviour, stepsOf } from './fake-upstream/behaviours.ts';
import { blockPort } from './fake-upstream/blocked-port.ts';
import { createEntry, type Entry, findField, type RequestHead } from './fake-upstream/entry.ts';
import { ByteQueue, MalformedRequest, readBody, readHead } from './fake-upstream/request-reader.ts';
import { listen } from './ports.ts';
import { playSteps } from './steps.ts';
import type { Teardown } from './teardown.ts';
import { type Found, waitFor } from './wait-for.ts';

export { type Behaviour, upstreamFaults } from './fake-upstream/behaviours.ts';
export type { Entry, Field, Usage } from './fake-upstream/entry.ts';
export { createGate, fin, type Gate, pause, rst, type Step, silence } from './steps.ts';

export interface FakeUpstreamOptions {
  /** Closes the upstream when this test ends. Without it the caller must. */
  t?: Teardown;
  /** Default: `fake-large`, `fake-small`, `fake-embedding`. */
  models?: string[];
  /** Default: a free one. */
  port?: number;
}

/** One Behaviour for every request from now on, or one per request in order and then the believable answer, or a choice per complete request. */
export type Plan = Behaviour | readonly Behaviour[] | Choice;
type Choice = (entry: Entry) => Behaviour | undefined;

/** What a request comes over; `gone` fires when the client has left. */
interface OpenConnection {
  readonly socket: Socket;
  readonly queue: ByteQueue;
  readonly gone: AbortSignal;
}

/** An accepted connection. Times as in the ledger. */
export interface Connection {
  readonly openedAtMs: number;
  closedAtMs: number | undefined;
  bytesReceived: number;
}

export interface FakeUpstream {
  /** The base URL of the provider: `http://127.0.0.1:<port>/v1`. */
  readonly url: string;
  readonly port: number;
  readonly models: readonly string[];
  readonly ledger: readonly Entry[];
  readonly connections: readonly Connection[];
  /** Why connections were reset that sent something other than one well-framed request after another. */
  readonly malformed: readonly string[];
  /** Settles when the port is as the plan wants it; requests that already have a behaviour keep it. */
  behave(plan: Plan): Promise<void>;
  /** Waits until the ledger gives something truthy, and gives that back. */
  waitFor<T>(probe: (ledger: readonly Entry[]) => T, deadlineMs?: number): Promise<Found<T>>;
  /** Cuts every open connection, in the middle of an answer or idle. */
  dropConnections(how: 'fin' | 'rst'): void;
  close(): Promise<void>;
}

const believable: Behaviour = { kind: 'openai' };

/** Starts a fake provider on 127.0.0.1. */
export async function startFakeUpstream(options: FakeUpstreamOptions = {}): Promise<FakeUpstream> {
  const models = options.models ?? ['fake-large', 'fake-small', 'fake-embedding'];
  const ledger: Entry[] = [];
  const connections: Connection[] = [];
  const malformed: string[] = [];
  const sockets = new Set<Socket>();
  let plan: Plan = believable;
  let unblock: (() => Promise<void>) | undefined;

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    void converse(socket);
  });
  const port = await listen(server, options.port);

  async function converse(socket: Socket): Promise<void> {
    const connection: Connection = { openedAtMs: performance.now(), closedAtMs: undefined, bytesReceived: 0 };
    const number = connections.push(connection) - 1;
    const queue = new ByteQueue();
    const gone = new AbortController();
    let open: Entry | undefined;

    const leave = (how: 'fin' | 'rst') => {
      queue.end();
      if (open && !open.finished && open.clientClosedAtMs === undefined) {
        open.clientClosedAtMs = performance.now();
        open.clientClose = how;
      }
      gone.abort();
    };
    socket.on('data', (bytes: Buffer) => {
      connection.bytesReceived += bytes.length;
      queue.push(bytes);
    });
    socket.on('end', () => {
      leave('fin');
      socket.destroy();
    });
    socket.on('error', () => leave('rst'));
    socket.on('close', () => {
      connection.closedAtMs = performance.now();
      leave('fin');
    });

    try {
      for (let head = await readHead(queue); head; head = await readHead(queue)) {
        open = createEntry(ledger.length, number, head);
        ledger.push(open);
        if (!(await answer({ socket, queue, gone: gone.signal }, head, open))) return;
        open = undefined;
      }
    } catch (error) {
      if (!(error instanceof MalformedRequest)) throw error;
      malformed.push(error.message);
      socket.resetAndDestroy();
    }
  }

  /** Reads the request's body and plays its behaviour. True when the connection may carry another request. */
  async function answer({ socket, queue, gone }: OpenConnection, head: RequestHead, entry: Entry): Promise<boolean> {
    const planned = nextBehaviour();
    const early = 'kind' in planned && planned.kind === 'early';
    const body = () => readBody(queue, head, (piece) => entry.bodyPieces.push(piece));
    if ('kind' in planned && planned.kind === 'stop-reading') {
      socket.pause();
      await (planned.gate ? planned.gate.wait(gone) : new Promise<void>(() => {}));
      socket.resume();
    }
    if (!early && !(await settleBody())) return false;
    const behaviour = typeof planned === 'function' ? (planned(entry) ?? believable) : planned;
    const outcome = await playSteps(socket, stepsOf(behaviour, entry, models), gone, (bytes) => {
      entry.firstByteAtMs ??= performance.now();
      entry.bytesSent += bytes;
    });
    if (outcome !== 'gone' && outcome !== 'silence') {
      entry.finished = true;
      entry.finishedAtMs = performance.now();
    }
    if (early && outcome === 'written' && !(await settleBody())) return false;
    if (outcome !== 'written') return false;
    const last = head.version === '1.0' || findField(head.headers, 'connection')?.toLowerCase() === 'close';
    if (last) socket.end();
    return !last;

    async function settleBody(): Promise<boolean> {
      const trailers = await body();
      if (!trailers) return false;
      entry.trailers = trailers;
      entry.bodyComplete = true;
      return true;
    }
  }

  function nextBehaviour(): Behaviour | Choice {
    if (typeof plan === 'function' || 'kind' in plan) return plan;
    const [next = believable, ...rest] = plan;
    plan = rest;
    return next;
  }

  function dropConnections(how: 'fin' | 'rst'): void {
    for (const socket of sockets) {
      if (how === 'rst') socket.resetAndDestroy();
      else socket.destroy();
    }
  }

  async function behave(next: Plan): Promise<void> {
    plan = next;
    const kind = 'kind' in next ? next.kind : undefined;
    await unblock?.();
    unblock = undefined;
    if (kind === 'refused' || kind === 'full-backlog') {
      await stopListening();
      if (kind === 'full-backlog') unblock = await blockPort(port);
    } else if (!server.listening) {
      await listen(server, port);
    }
  }

  async function stopListening(): Promise<void> {
    const closed = new Promise<void>((done) => server.close(() => done()));
    dropConnections('fin');
    await closed;
  }

  async function close(): Promise<void> {
    await unblock?.();
    unblock = undefined;
    await stopListening();
  }

  options.t?.teardown(close);
  return {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    models,
    ledger,
    connections,
    malformed,
    behave,
    waitFor: (probe, deadlineMs) =>
      waitFor(
        `the ledger (${ledger.length} entries so far) to satisfy ${String(probe)}`,
        () => probe(ledger),
        deadlineMs,
      ),
    dropConnections,
    close,
  };
}
