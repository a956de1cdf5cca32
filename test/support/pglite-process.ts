// PGlite, a PostgreSQL in WebAssembly, with pgvector, on a socket as a server has it: node test/support/pglite-process.ts /tmp/directory
// It has one database. Its backend serves all connections in turn: one keeps it until its transaction is over.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import manifest from '../package.json' with { type: 'json' };

/** Of the protocol of PostgreSQL, version 3 (manual, "Message Formats"). */
const startupVersion = 196_608;
const idle = 'I';
/** Of a new server in tests. Another user is a role that was made. */
const owner = 'gateway';
/** What PGlite calls it. */
const superuser = 'postgres';

const engine = await openEngine();
/** What the backend does now. */
let busy: Promise<unknown> = Promise.resolve();

/** A connection and its place in the queue for the backend. */
class Connection {
  readonly #socket: Socket;
  #unread: Buffer = Buffer.alloc(0);
  #isBegun = false;
  #role = owner;
  /** Ends this connection's turn. */
  #leave: (() => void) | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      this.#work = this.#work.then(() => this.#take(chunk)).catch((error: unknown) => this.#fail(error));
    });
    socket.on('close', () => {
      this.#work = this.#work.then(() => this.#giveUp()).catch((error: unknown) => this.#fail(error));
    });
  }

  async #take(chunk: Buffer): Promise<void> {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    for (let message = this.#next(); message !== undefined; message = this.#next()) {
      if (!this.#isBegun) this.#begin(message);
      else if (message[0] === letter('X')) this.#socket.end();
      else await this.#ask(message);
    }
  }

  /** The first message has no letter before its length. */
  #next(): Buffer | undefined {
    const at = this.#isBegun ? 1 : 0;
    if (this.#unread.length < at + 4) return undefined;
    const length = at + this.#unread.readInt32BE(at);
    if (this.#unread.length < length) return undefined;
    const message = this.#unread.subarray(0, length);
    this.#unread = this.#unread.subarray(length);
    return message;
  }

  #begin(message: Buffer): void {
    // The wish to cancel what another connection does.
    if (message.readInt32BE(4) !== startupVersion) {
      this.#socket.end();
      return;
    }
    const words = message.toString('utf8', 8).split('\0');
    this.#role = words[words.indexOf('user') + 1] ?? owner;
    this.#isBegun = true;
    const encoding = Buffer.from('client_encoding\0UTF8\0');
    this.#socket.write(
      Buffer.concat([
        packet('R', Buffer.alloc(4)),
        packet('S', encoding),
        packet('K', Buffer.alloc(8)),
        packet('Z', Buffer.from(idle)),
      ]),
    );
  }

  async #ask(message: Buffer): Promise<void> {
    if (this.#leave === undefined) await this.#enter();
    const answer = Buffer.from(await engine.execProtocolRaw(message));
    this.#socket.write(answer);
    // What ends a round says last whether a transaction is open.
    const isOver = answer.length >= 6 && answer[answer.length - 6] === letter('Z');
    if (isOver && answer[answer.length - 1] === letter(idle)) this.#end();
  }

  async #enter(): Promise<void> {
    const before = busy;
    const { promise, resolve } = Promise.withResolvers<void>();
    busy = promise;
    await before;
    this.#leave = resolve;
    await engine.exec(`SET SESSION AUTHORIZATION "${this.#role === owner ? superuser : this.#role}"`);
  }

  #end(): void {
    this.#leave?.();
    this.#leave = undefined;
  }

  async #giveUp(): Promise<void> {
    if (this.#leave !== undefined) await engine.exec('ROLLBACK');
    this.#end();
  }

  #fail(error: unknown): void {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    this.#socket.destroy();
    this.#end();
  }
}

/** With an empty database, whose making takes seconds of the processor: it is made once for a version. */
async function openEngine(): Promise<PGlite> {
  const extensions = { vector };
  const cache = join(import.meta.dirname, '../../node_modules/.cache');
  const kept = join(cache, `pglite-${manifest.devDependencies['@electric-sql/pglite']}.tar`);
  if (existsSync(kept)) return PGlite.create({ extensions, loadDataDir: new Blob([readFileSync(kept)]) });
  const made = await PGlite.create({ extensions });
  const files = await made.dumpDataDir('none');
  mkdirSync(cache, { recursive: true });
  // Several may make it at once.
  const beside = `${kept}.${process.pid}`;
  writeFileSync(beside, Buffer.from(await files.arrayBuffer()));
  renameSync(beside, kept);
  return made;
}

function packet(kind: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(kind);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

function letter(text: string): number {
  return text.charCodeAt(0);
}

const [directory = '.'] = process.argv.slice(2);
const server = createServer((socket) => new Connection(socket));
const path = join(directory, '.s.PGSQL.5432');
// A process that was killed has left it there.
rmSync(path, { force: true });
server.listen(path, () => process.stdout.write('{"msg":"listening"}\n'));
