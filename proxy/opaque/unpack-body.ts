// Undoes the compression of a client's body that must be read before it is sent, piece by piece, so that no small body becomes a huge one.
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, createZstdDecompress } from 'node:zlib';
import { Refusal, refusal } from '../errors.ts';
import type { WholeLimit } from './whole-body.ts';

const decoders = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  // Half of the world sends this one without its zlib header.
  deflate: (body: Buffer) => ((body[0] ?? 0) % 16 === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
} as const;

/** The encoding that a Content-Encoding names, in lower case; undefined: none. */
export function encodingOf(header: string | undefined): string | undefined {
  const encoding = header?.trim().toLowerCase();
  return encoding === '' || encoding === 'identity' ? undefined : encoding;
}

/**
 * The bytes behind an encoding. `grown` is told how many there are so far, and throws a Refusal where they are too many. Rejects with 415
 * `unsupported_encoding` for an encoding that is not known, 400 `invalid_json` for a body that is damaged, and 413 `body_too_large`.
 */
export async function unpack(
  body: Buffer,
  encoding: string,
  { bytes: mostBytes, setting }: WholeLimit,
  grown: (bytes: number) => void,
): Promise<Buffer> {
  if (!Object.hasOwn(decoders, encoding)) throw refusal('unsupported_encoding');
  const decoder = decoders[encoding as keyof typeof decoders](body);
  const pieces: Buffer[] = [];
  let length = 0;
  decoder.end(body);
  try {
    for await (const piece of decoder as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > mostBytes)
        throw refusal('body_too_large', { fill: { limit: mostBytes, setting: ` (unpacked, ${setting})` } });
      grown(length);
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw refusal('invalid_json', { fill: { reason: `its Content-Encoding ${encoding} cannot be undone` } });
  }
  return Buffer.concat(pieces, length);
}
