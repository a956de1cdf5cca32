// The bytes that arrive at one end of a session: it bounds how much of an unfinished message is in memory, and for how long.
import type { WebSocketConnection } from '../http/web-socket.ts';
import { FrameMeter } from './frame-meter.ts';

/** Who is told. */
export interface IntakeListener {
  /** Bytes have come; they are counted already, and not read yet. */
  came(): void;
  /** A message that was begun is not complete in time. */
  late(): void;
}

export class Intake {
  readonly #connection: WebSocketConnection;
  readonly #meter = new FrameMeter();
  readonly #patienceMs: number;
  readonly #listener: IntakeListener;
  #timer: NodeJS.Timeout | undefined;

  /** `patienceMs`: how long a message may take; time in which the gateway itself does not read is none of it. The connection is paused. */
  constructor(connection: WebSocketConnection, patienceMs: number, listener: IntakeListener) {
    this.#connection = connection;
    this.#patienceMs = patienceMs;
    this.#listener = listener;
    // Before it is read: what would be too much is known before it is in memory.
    connection.socket.prependListener('data', (chunk: Buffer) => this.#take(chunk));
    connection.socket.once('close', () => this.#stopClock());
  }

  /** Of a message that is not complete. */
  get heldBytes(): number {
    return this.#meter.heldBytes;
  }

  pause(): void {
    this.#stopClock();
    this.#connection.end.pause();
  }

  resume(): void {
    this.#connection.end.resume();
    this.#setClock();
  }

  /** From now on everything that comes is dropped. */
  drop(): void {
    const { socket } = this.#connection;
    this.#stopClock();
    socket.removeAllListeners('data');
    socket.resume();
  }

  #take(chunk: Buffer): void {
    if (this.#meter.take(chunk) || !this.#meter.isUnfinished) this.#stopClock();
    this.#setClock();
    this.#listener.came();
  }

  #setClock(): void {
    if (!this.#meter.isUnfinished) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#listener.late();
    }, this.#patienceMs);
  }

  #stopClock(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
