// Opens a WebSocket to a provider, on a connection made as those of all other calls are: the same addresses, authorities, proxy and
// timeouts. The only client of ws.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import { limitsOf, type WebSocketConnection } from '../../http/web-socket.ts';
import { type AnswerHead, readAnswerHead } from '../answer-head.ts';
import type { ClientPool } from '../client-pool.ts';
import { clientLeft, failureOf, timedOut, type UpstreamFailure } from '../failure.ts';
import type { WholeAnswer } from '../read-whole.ts';

/** The data of a WebSocket handshake. */
export interface Handshake {
  /** Path and query, those of the base URL included. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly frameLimitBytes: number;
  /** From sending to the answer. Milliseconds. */
  readonly firstByteMs: number;
}

/** The provider has switched protocols. Nothing is read of the connection until it is resumed. */
export interface Switched {
  readonly connection: WebSocketConnection;
  readonly head: AnswerHead;
}

/** The outcome: exactly one of the three members. */
export type Dialled =
  | { readonly switched: Switched; readonly answer?: undefined; readonly failure?: undefined }
  /** An answer of HTTP, whatever its status. */
  | { readonly answer: WholeAnswer; readonly switched?: undefined; readonly failure?: undefined }
  | { readonly failure: UpstreamFailure; readonly switched?: undefined; readonly answer?: undefined };

/** More of an answer that is not the wanted one is not read. Bytes. */
const mostBytes = 64 * 1024;

/** Opens a WebSocket to the provider. `gone` cancels it. Never rejects: a failure is a member of the outcome. */
export function dialWebSocket(pool: ClientPool, handshake: Handshake, gone: AbortSignal): Promise<Dialled> {
  return new Promise((resolve) => new Dial(pool, handshake, gone, resolve));
}

class Dial {
  readonly #webSocket: WebSocket;
  readonly #gone: AbortSignal;
  readonly #resolve: (dialled: Dialled) => void;
  readonly #firstByteMs: number;
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #sent = false;
  #isOver = false;
  #head = readAnswerHead([]);

  constructor(pool: ClientPool, handshake: Handshake, gone: AbortSignal, resolve: (dialled: Dialled) => void) {
    this.#gone = gone;
    this.#resolve = resolve;
    this.#firstByteMs = handshake.firstByteMs;
    this.#webSocket = new WebSocket(pool.origin.replace(/^http/, 'ws') + handshake.path, [], {
      ...limitsOf(handshake.frameLimitBytes),
      headers: asRecord(handshake.headers),
      createConnection: (_options, done) => {
        pool.openSocket((error, socket) => {
          if (error !== null) return done(error);
          this.#socket = socket;
          this.#await();
          done(null, socket);
        });
        return undefined;
      },
    });
    this.#webSocket.on('upgrade', (answer) => {
      this.#head = headOf(answer);
    });
    this.#webSocket.on('open', () => this.#open());
    this.#webSocket.on('unexpected-response', (_request, answer) => this.#read(answer));
    this.#webSocket.on('error', (error) => this.#fail(error));
    if (gone.aborted) this.#leave();
    else gone.addEventListener('abort', this.#leave);
  }

  /** A property, because it is called without its object. */
  readonly #leave = (): void => {
    this.#end({ failure: { failure: clientLeft, sent: this.#sent, isStale: false } });
    this.#webSocket.terminate();
  };

  /** The handshake is sent. */
  #await(): void {
    this.#sent = true;
    this.#timer = setTimeout(() => {
      const failure = timedOut('no answer to the WebSocket handshake within timeouts.first_byte');
      this.#end({ failure: { failure, sent: true, isStale: false } });
      this.#webSocket.terminate();
    }, this.#firstByteMs);
  }

  #open(): void {
    this.#webSocket.pause();
    const [end, socket] = [this.#webSocket, this.#socket];
    if (this.#isOver || socket === undefined) end.terminate();
    else this.#end({ switched: { connection: { end, socket }, head: this.#head } });
  }

  #read(answer: IncomingMessage): void {
    const pieces: Buffer[] = [];
    let length = 0;
    const end = (): void => {
      const body = Buffer.concat(pieces).subarray(0, mostBytes);
      this.#end({ answer: { status: answer.statusCode ?? 0, head: headOf(answer), body } });
      this.#webSocket.terminate();
    };
    answer.on('data', (piece: Buffer) => {
      pieces.push(piece);
      length += piece.length;
      if (length > mostBytes) end();
    });
    answer.on('end', end).on('error', (error) => this.#fail(error));
  }

  #fail(error: Error & { readonly code?: string }): void {
    // Without a code it is the package that does not like the answer.
    const failure =
      error.code === undefined && this.#sent
        ? ({ code: 'upstream_invalid_response', reason: 'it is no WebSocket handshake' } as const)
        : failureOf(error);
    this.#end({ failure: { failure, sent: this.#sent, isStale: false } });
  }

  #end(dialled: Dialled): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#gone.removeEventListener('abort', this.#leave);
    this.#resolve(dialled);
  }
}

function headOf({ rawHeaders }: IncomingMessage): AnswerHead {
  return readAnswerHead(rawHeaders.map((text) => Buffer.from(text, 'latin1')));
}

function asRecord(headers: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (let index = 0; index < headers.length; index += 2) {
    record[(headers[index] as string).toLowerCase()] = headers[index + 1] as string;
  }
  return record;
}
