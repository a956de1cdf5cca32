// Undoes a compression that was not asked for, on the way: only what can be read can be counted, and only plain bytes suit every client.
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import type { Failure, Sink } from '../answer.ts';

/** A sink for compressed bytes. */
export interface DecodedSink extends Sink {
  /** The sink behind can take more. */
  resume(): void;
  /** The rest is not needed. */
  close(): void;
}

/** An event stream becomes twenty times as long, perhaps fifty. What grows more than this, and beyond a megabyte, is made to exhaust. */
const mostGrowth = 100;
const harmlessBytes = 1024 * 1024;

// What has come of a stream that breaks off is still passed on.
const zlib = { finishFlush: constants.Z_SYNC_FLUSH };
const decoders = {
  gzip: () => createGunzip(zlib),
  'x-gzip': () => createGunzip(zlib),
  deflate: () => createInflate(zlib),
  br: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: () => createZstdDecompress({ finishFlush: constants.ZSTD_e_flush }),
} as const;

/** What a Content-Encoding says has to be undone to read the body, in lower case; undefined when nothing has. */
export function encodingOf(header: string): string | undefined {
  const encoding = header.trim().toLowerCase();
  return encoding === '' || encoding === 'identity' ? undefined : encoding;
}

/** The name of a compression that can be undone. */
export type Encoding = keyof typeof decoders;

/** Whether a Content-Encoding, in lower case, can be undone. */
export function isDecodable(encoding: string): encoding is Encoding {
  return Object.hasOwn(decoders, encoding);
}

/**
 * A sink that hands everything to `sink` as it was before it was compressed, and asks `source` for no more than that one takes. Bytes
 * that are not compressed so, and those that grow beyond measure, end it with `upstream_invalid_response` and cancel the source.
 */
export function decodedSink(
  encoding: Encoding,
  sink: Sink,
  source: { resume(): void; cancel(failure: Failure): void },
): DecodedSink {
  const decoder = decoders[encoding]();
  let taken = 0;
  let given = 0;
  let isOver = false;
  let failure: Failure | undefined;
  const end = (ended: Failure | undefined): void => {
    if (isOver) return;
    isOver = true;
    sink.end(ended);
  };
  const fail = (reason: string): void => {
    const ended: Failure = { code: 'upstream_invalid_response', reason };
    end(ended);
    decoder.destroy();
    source.cancel(ended);
  };
  decoder.on('data', (piece: Buffer) => {
    if (isOver) return;
    given += piece.length;
    if (given > harmlessBytes && given > mostGrowth * taken) fail('it grows beyond measure when it is decompressed');
    else if (!sink.write(piece)) decoder.pause();
  });
  decoder.on('drain', () => source.resume());
  decoder.on('end', () => end(failure));
  decoder.on('error', () => fail(`it is not ${encoding}, as it says`));
  return {
    write(chunk) {
      taken += chunk.length;
      return isOver || decoder.write(chunk);
    },
    end(ended) {
      failure = ended;
      if (!isOver) decoder.end();
    },
    resume: () => void decoder.resume(),
    close() {
      isOver = true;
      decoder.destroy();
    },
  };
}
