// One keep-alive connection of the load client: one request at a time, its answer read without a stream in between.
import { connect, type Socket } from 'node:net';
import { AnswerReader } from './answer-reader.ts';

/** Who sent the request on a connection, and is told what came of it. */
export interface Owner {
  /** The first event of a stream arrived; for JSON the first bytes. */
  began(connection: Connection): void;
  /** The answer is complete. */
  completed(connection: Connection): void;
  /** The connection was lost under a request, or the answer was not HTTP as expected. The connection is closed. */
  lost(connection: Connection): void;
}

// One buffer for all connections: libuv reads and delivers in one step, so no two reads ever hold it at the same time.
const readBuffer = Buffer.allocUnsafe(256 * 1024);

/** Opened by `openConnection`. `owner` is set while a request is under way, and only then. */
export class Connection {
  readonly answer = new AnswerReader();
  owner: Owner | undefined;
  /** When the request under way was to be sent. */
  dueMs = 0;
  isOpen = false;
  #socket: Socket | undefined;
  #hasBegun = false;

  /** Resolves when the connection is open; rejects when it cannot be opened. */
  open(target: { host: string; port: number }): Promise<void> {
    return new Promise((resolve, reject) => {
      const callback = (count: number): boolean => {
        this.#take(readBuffer.subarray(0, count));
        return true;
      };
      const socket = connect({ ...target, noDelay: true, onread: { buffer: readBuffer, callback } });
      this.#socket = socket;
      socket.on('connect', () => {
        this.isOpen = true;
        resolve();
      });
      socket.on('error', (error) => {
        reject(error);
        socket.destroy();
      });
      socket.on('end', () => socket.destroy());
      socket.on('close', () => {
        this.isOpen = false;
        reject(new Error('the connection was closed before it was open'));
        this.#lose();
      });
    });
  }

  /** Sends a complete request; `owner` is told of its answer. */
  send(request: Buffer, owner: Owner, dueMs: number): void {
    this.owner = owner;
    this.dueMs = dueMs;
    this.#hasBegun = false;
    this.answer.begin();
    this.#socket?.write(request);
  }

  /** Closes the connection; who waits for an answer on it is told that it is lost. */
  close(): void {
    this.isOpen = false;
    this.#socket?.destroy();
  }

  #take(piece: Buffer): void {
    const { owner, answer } = this;
    const progress = owner === undefined ? 'broken' : answer.take(piece);
    if (owner === undefined || progress === 'broken') {
      this.close();
      return;
    }
    if (!this.#hasBegun && (answer.events > 0 || progress === 'complete')) {
      this.#hasBegun = true;
      owner.began(this);
    }
    if (progress !== 'complete') return;
    this.owner = undefined;
    owner.completed(this);
  }

  #lose(): void {
    const { owner } = this;
    this.owner = undefined;
    owner?.lost(this);
  }
}

/** A connection that is open; rejects when it cannot be opened. */
export async function openConnection(target: { host: string; port: number }): Promise<Connection> {
  const connection = new Connection();
  await connection.open(target);
  return connection;
}
