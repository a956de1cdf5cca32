// A body on its way to a provider: its last bytes pass only when every object that it refers to has turned out to be its caller's.
import { type Readable, Transform, type TransformCallback } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';
import { Refusal, refusal } from '../../errors.ts';
import type { ReferenceReader } from './body-references.ts';
import type { Reference } from './json-references.ts';

export interface Gate {
  readonly reader: ReferenceReader;
  /** As the client names it; undefined: none. */
  readonly encoding: string | undefined;
  /** Most that it may unpack to. Bytes. */
  readonly mostBytes: number;
  /** Rejects with the Refusal of what is not the caller's. */
  readonly check: (references: readonly Reference[]) => Promise<unknown>;
}

/** The number of bytes that are read between two pauses: some milliseconds at most. */
const stepBytes = 16 * 1024;

const unpackers: Readonly<Record<string, (first: Buffer) => Transform>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  // Half of the world sends this one without its zlib header.
  deflate: (first) => ((first[0] ?? 0) % 16 === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
};

/** Looks at a body that is there. Rejects as `check`, and with 415 `unsupported_encoding`. */
export async function checkBody(body: Buffer, gate: Gate): Promise<void> {
  const passing = new GatePass(gate);
  await passing.take(body);
  await passing.end();
}

/** The bytes as they came. `failed` is told why the rest does not pass. */
export class GatedBody extends Transform {
  readonly #passing: GatePass;
  readonly #failed: (error: Refusal) => void;
  readonly #source: Readable;
  #isBegun = false;
  #held: Buffer | undefined;

  /** The source is read when the provider takes something of it. Throws 415 `unsupported_encoding`. */
  constructor(source: Readable, gate: Gate, failed: (error: Refusal) => void) {
    super();
    this.#source = source;
    this.#passing = new GatePass(gate);
    this.#failed = failed;
    // Who destroys it says elsewhere why.
    this.on('error', () => undefined);
  }

  override read(size?: number): unknown {
    if (!this.#isBegun) this.#source.pipe(this);
    this.#isBegun = true;
    return super.read(size);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#after(this.#passing.take(chunk), done, () => {
      // Of the first piece the last byte is held: the provider hears of the request before there is another one.
      const isFirst = this.#held === undefined;
      const passed = isFirst ? chunk.subarray(0, -1) : this.#held;
      if (passed !== undefined && passed.length > 0) this.push(passed);
      this.#held = isFirst ? chunk.subarray(-1) : chunk;
    });
  }

  override _flush(done: TransformCallback): void {
    this.#after(this.#passing.end(), done, () => {
      if (this.#held !== undefined) this.push(this.#held);
    });
  }

  #after(checked: Promise<void>, done: TransformCallback, pass: () => void): void {
    checked.then(
      () => {
        pass();
        done();
      },
      (error: unknown) => {
        const refused = error instanceof Refusal ? error : refusal('internal_error');
        this.#failed(refused);
        done(refused);
      },
    );
  }
}

/** The decompressed bytes of a body so far, and their references. */
class GatePass {
  readonly #gate: Gate;
  readonly #encoding: string | undefined;
  #unpacker: Transform | undefined;
  #unpacked = 0;
  /** Seen since others had their turn. Bytes. */
  #sinceTurn = 0;
  #fault: unknown;
  #stopped: () => void = () => undefined;

  constructor(gate: Gate) {
    this.#gate = gate;
    const encoding = gate.encoding?.trim().toLowerCase() ?? 'identity';
    if (encoding === 'identity' || encoding === '') return;
    if (!Object.hasOwn(unpackers, encoding)) throw refusal('unsupported_encoding');
    this.#encoding = encoding;
  }

  async take(piece: Buffer): Promise<void> {
    if (this.#encoding !== undefined && this.#unpacker === undefined) this.#open(this.#encoding, piece);
    const unpacker = this.#unpacker;
    if (unpacker === undefined) await this.#seeAll(piece);
    else await this.#step((done) => unpacker.write(piece, done));
    await this.#check();
  }

  /** Pieces that wait follow each other without a turn between them. */
  async #seeAll(piece: Buffer): Promise<void> {
    for (let at = 0; at < piece.length; at += stepBytes) {
      if (this.#sinceTurn >= stepBytes) await new Promise((resume) => setImmediate(resume));
      this.#sinceTurn %= stepBytes;
      const step = piece.subarray(at, at + stepBytes);
      this.#sinceTurn += step.length;
      this.#see(step);
      await this.#check();
    }
  }

  async end(): Promise<void> {
    const unpacker = this.#unpacker;
    if (unpacker !== undefined) await this.#step((done) => unpacker.once('end', done).end());
    if (this.#fault === undefined) this.#try(() => this.#gate.reader.end());
    await this.#check();
  }

  #open(encoding: string, first: Buffer): void {
    this.#unpacker = unpackers[encoding]?.(first);
    this.#unpacker?.on('data', (piece: Buffer) => this.#see(piece));
    this.#unpacker?.on('error', () => this.#stop(damaged()));
  }

  /** Waits for the unpacker, unless it has failed. */
  async #step(work: (done: () => void) => void): Promise<void> {
    if (this.#fault !== undefined) return;
    await new Promise<void>((done) => {
      this.#stopped = done;
      work(done);
    });
  }

  #stop(error: unknown): void {
    this.#fault ??= error;
    this.#stopped();
  }

  #see(piece: Buffer): void {
    this.#unpacked += piece.length;
    const { mostBytes, reader } = this.#gate;
    if (this.#unpacked > mostBytes)
      this.#stop(refusal('body_too_large', { fill: { limit: mostBytes, setting: ', unpacked' } }));
    if (this.#fault === undefined) this.#try(() => reader.push(piece));
  }

  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#stop(error);
    }
  }

  async #check(): Promise<void> {
    if (this.#fault !== undefined) {
      this.#unpacker?.destroy();
      throw this.#fault;
    }
    const { reader, check } = this.#gate;
    const found = reader.take();
    if (found.length > 0) await check(found);
  }
}

function damaged(): Error {
  return refusal('invalid_parameter', {
    fill: { param: 'The body', because: 'cannot be unpacked as its Content-Encoding says' },
  });
}
