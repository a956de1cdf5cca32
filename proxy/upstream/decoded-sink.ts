// Decompresses a body that the gateway did not ask for compressed: only plain bytes can be counted, and every client can read them.
import type { Duplex } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import type { Failure, Sink } from '../answer.ts';

/** A sink for compressed bytes. */
export interface DecodedSink extends Sink {
  /** The sink behind can take more. */
  resume(): void;
  /** The rest is not needed. */
  close(): void;
}

/**
 * The largest growth of a body beyond 1 MiB (`harmlessBytes`). An event stream grows 20 to 50 times; more is an attack
 * on memory.
 */
const mostGrowth = 100;
const harmlessBytes = 1024 * 1024;

// Z_SYNC_FLUSH passes on the bytes of a stream that broke off.
const zlib = { finishFlush: constants.Z_SYNC_FLUSH };
const decoders: Readonly<Record<Encoding, (first: number) => Duplex>> = {
  gzip: () => createGunzip(zlib),
  'x-gzip': () => createGunzip(zlib),
  // Many servers send deflate without its zlib header.
  deflate: (first: number) => (first % 16 === 8 ? createInflate(zlib) : createInflateRaw(zlib)),
  br: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => createZstdDecompress({ finishFlush: constants.ZSTD_e_flush }),
};

/** Values that servers send although the body is not compressed. */
const plain: ReadonlySet<string> = new Set(['', 'identity', 'none', 'binary', 'utf-8', 'utf8', 'us-ascii']);

/** The compression that a Content-Encoding names, in lower case; undefined when it names none. */
export function encodingOf(header: string): string | undefined {
  const encoding = header.trim().toLowerCase();
  return plain.has(encoding) ? undefined : encoding;
}

/** The name of a compression that can be undone. */
export type Encoding = 'gzip' | 'x-gzip' | 'deflate' | 'br' | 'zstd';

/** Whether this gateway can decompress a Content-Encoding; `encoding` in lower case. */
export function isDecodable(encoding: string): encoding is Encoding {
  return Object.hasOwn(decoders, encoding);
}

/**
 * A sink that passes decompressed bytes to `sink` and asks `source` for no more than `sink` takes. Bytes that are not
 * so compressed, and a body that grows more than 100 times beyond 1 MiB, end `sink` with `upstream_invalid_response`
 * and cancel the source.
 */
export function decodedSink(encoding: Encoding, sink: Sink, source: Source): DecodedSink {
  return new Decoding(encoding, sink, source);
}

/** The source of the compressed bytes. */
interface Source {
  resume(): void;
  cancel(failure: Failure): void;
}

class Decoding implements DecodedSink {
  readonly #encoding: Encoding;
  readonly #sink: Sink;
  readonly #source: Source;
  /** Undefined: nothing has come. An answer without a body may name an encoding, too. */
  #decoder: Duplex | undefined;
  #taken = 0;
  #given = 0;
  #isOver = false;
  #failure: Failure | undefined;

  constructor(encoding: Encoding, sink: Sink, source: Source) {
    this.#encoding = encoding;
    this.#sink = sink;
    this.#source = source;
  }

  write(chunk: Buffer): boolean {
    if (this.#isOver || chunk.length === 0) return true;
    this.#taken += chunk.length;
    this.#decoder ??= this.#open(chunk[0] as number);
    // It is read later, and the memory is the parser's.
    return this.#decoder.write(Buffer.from(chunk));
  }

  end(ended: Failure | undefined): void {
    this.#failure = ended;
    if (this.#decoder === undefined) this.#end(ended);
    else if (!this.#isOver) this.#decoder.end();
  }

  resume(): void {
    this.#decoder?.resume();
  }

  close(): void {
    this.#isOver = true;
    this.#decoder?.destroy();
  }

  #open(first: number): Duplex {
    const decoder = decoders[this.#encoding](first);
    decoder.on('data', (piece: Buffer) => {
      if (this.#isOver) return;
      this.#given += piece.length;
      const isBeyond = this.#given > harmlessBytes && this.#given > mostGrowth * this.#taken;
      if (isBeyond) this.#fail('it grows beyond measure when it is decompressed');
      else if (!this.#sink.write(piece)) decoder.pause();
    });
    decoder.on('drain', () => this.#source.resume());
    decoder.on('end', () => this.#end(this.#failure));
    decoder.on('error', () => this.#fail(`it is not ${this.#encoding}, as it says`));
    return decoder;
  }

  #end(ended: Failure | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.end(ended);
  }

  #fail(reason: string): void {
    const ended: Failure = { code: 'upstream_invalid_response', reason };
    this.#end(ended);
    this.#decoder?.destroy();
    this.#source.cancel(ended);
  }
}
