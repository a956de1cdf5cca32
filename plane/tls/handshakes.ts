// Handshakes before there is a connection that HTTP can be spoken on. Their clients are unknown, so their number, time and work are bounded.
import type { Socket } from 'node:net';

/**
 * What became of a connection. `plain_http`: the client spoke HTTP without TLS; `no_tls`: neither of them; `displaced`: it was the oldest of
 * too many; `client_certificate`: none, or one that cannot be verified, where one is required; `refused_by_client`: the client does not trust
 * the certificate; `failed`: TLS could not be agreed on; `left`: the client has closed.
 */
export const handshakeOutcomes = [
  'completed',
  'plain_http',
  'no_tls',
  'timeout',
  'displaced',
  'client_certificate',
  'refused_by_client',
  'failed',
  'left',
] as const;
export type HandshakeOutcome = (typeof handshakeOutcomes)[number];

export interface HandshakeCounts {
  readonly open: number;
  readonly outcomes: Readonly<Record<HandshakeOutcome, number>>;
}

/** At a time. One takes up to 64 KiB until it has begun, then some 50 KiB. */
const mostOpen = 512;
/** From the connection to the end of the handshake. Milliseconds. */
const timeoutMs = 10_000;
/** In one turn of the event loop: one signature takes up to a millisecond, with RSA of 4,096 bits several. */
const perTurn = 4;

/** Of a record of TLS: type, version, length. Bytes. */
const recordHeader = 5;
const handshakeRecord = 22;
/** The longest record that is waited for. Bytes. */
const longestRecord = 16 * 1024;

/** What is known of a connection before TLS begins on it. */
interface Waiting {
  readonly timer: NodeJS.Timeout;
  /** What it has sent, until that is its first record. */
  bytes: Buffer;
}

const nothing = Buffer.alloc(0);

/** Begins TLS on a connection, of which the first record is there. */
type Begin = (socket: Socket) => void;

export class Handshakes {
  readonly outcomes = Object.fromEntries(handshakeOutcomes.map((outcome) => [outcome, 0])) as Record<
    HandshakeOutcome,
    number
  >;
  /** In the order in which they came. */
  readonly #open = new Map<Socket, Waiting>();
  readonly #ready: Socket[] = [];
  readonly #begin: Begin;
  readonly #ended: (outcome: HandshakeOutcome, socket: Socket, reason: string) => void;

  /** `ended` is told of each that did not succeed. */
  constructor(begin: Begin, ended: (outcome: HandshakeOutcome, socket: Socket, reason: string) => void) {
    this.#begin = begin;
    this.#ended = ended;
  }

  get open(): number {
    return this.#open.size;
  }

  /** Waits for the first record of a connection; nothing is made for it before. */
  take(socket: Socket): void {
    if (this.#open.size >= mostOpen) {
      const [oldest] = this.#open.keys();
      if (oldest !== undefined) this.fail(oldest, 'displaced');
    }
    this.#open.set(socket, { timer: setTimeout(() => this.fail(socket, 'timeout'), timeoutMs), bytes: nothing });
    socket.on('readable', () => this.#look(socket));
    socket.once('close', () => this.end(socket, 'left'));
    // Errors of a connection that has no other reader.
    socket.on('error', () => undefined);
  }

  /** The handshake is over; only the first outcome of a connection counts. `reason`: for the log, without what the client has sent. */
  end(socket: Socket, outcome: HandshakeOutcome, reason = ''): void {
    const waiting = this.#open.get(socket);
    if (waiting === undefined) return;
    clearTimeout(waiting.timer);
    this.#open.delete(socket);
    this.outcomes[outcome] += 1;
    if (outcome !== 'completed') this.#ended(outcome, socket, reason);
  }

  fail(socket: Socket, outcome: HandshakeOutcome, reason = ''): void {
    this.end(socket, outcome, reason);
    socket.destroy();
  }

  /** Closes all: none of them has sent a request. */
  closeAll(): void {
    for (const socket of this.#open.keys()) this.fail(socket, 'left');
  }

  #look(socket: Socket): void {
    const waiting = this.#open.get(socket);
    const piece = socket.read() as Buffer | null;
    if (piece === null || waiting === undefined) return;
    const bytes = waiting.bytes.length === 0 ? piece : Buffer.concat([waiting.bytes, piece]);
    if (bytes[0] !== handshakeRecord) {
      this.#refuse(socket, bytes);
      return;
    }
    const isWhole = bytes.length >= recordHeader && bytes.length >= recordHeader + bytes.readUInt16BE(3);
    waiting.bytes = isWhole ? nothing : bytes;
    if (!isWhole && bytes.length <= longestRecord) return;
    socket.unshift(bytes);
    socket.removeAllListeners('readable');
    if (this.#ready.push(socket) === 1) setImmediate(this.#beginSome);
  }

  /** A property, because it is called without its object. */
  readonly #beginSome = (): void => {
    for (let begun = 0; begun < perTurn; ) {
      const socket = this.#ready.shift();
      if (socket === undefined) return;
      if (!this.#open.has(socket)) continue;
      this.#begin(socket);
      begun += 1;
    }
    if (this.#ready.length > 0) setImmediate(this.#beginSome);
  };

  #refuse(socket: Socket, bytes: Buffer): void {
    socket.removeAllListeners('readable');
    if (!isHttp(bytes)) {
      this.fail(socket, 'no_tls');
      return;
    }
    this.end(socket, 'plain_http');
    socket.end(plainAnswer);
    // Reading on lets the client take the answer before the connection goes.
    socket.resume();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  }
}

const lingerMs = 500;
const sentence = 'This port speaks HTTPS only. Write https:// in the address.\n';
const plainAnswer = `HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${sentence.length}\r\nconnection: close\r\n\r\n${sentence}`;

/** Whether bytes begin like the line of a request. */
function isHttp(bytes: Buffer): boolean {
  return /^[A-Z]{3,}[ A-Z]/.test(bytes.toString('latin1', 0, 16));
}
