// Undoes the compression of a body that is read here: providers compress in spite of `accept-encoding: identity`.
import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  inflateRawSync,
  inflateSync,
  zstdDecompressSync,
} from 'node:zlib';

/** Far more than an error says, and short enough to be unpacked at once: less than a millisecond. Bytes. */
const mostOfError = 64 * 1024;
const nothing = Buffer.alloc(0);

const decoders: Readonly<Record<string, (body: Buffer, maxOutputLength: number) => Buffer>> = {
  gzip: (body, maxOutputLength) => gunzipSync(body, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH }),
  br: (body, maxOutputLength) =>
    brotliDecompressSync(body, { maxOutputLength, finishFlush: constants.BROTLI_OPERATION_FLUSH }),
  zstd: (body, maxOutputLength) => zstdDecompressSync(body, { maxOutputLength }),
  // Half of the world sends this one without its zlib header.
  deflate: (body, maxOutputLength) => {
    const decode = (body[0] ?? 0) % 16 === 8 ? inflateSync : inflateRawSync;
    return decode(body, { maxOutputLength, finishFlush: constants.Z_SYNC_FLUSH });
  },
};

/** The encoding of a body: as it is named, or gzip where the bytes begin so and no name was given, which proxies forget. */
export function encodingOf(body: Buffer, named: string | undefined): string | undefined {
  return named ?? (body[0] === 0x1f && body[1] === 0x8b ? 'gzip' : undefined);
}

/** The bytes behind a Content-Encoding, at most `most`; none when they are more, damaged, or encoded in a way that is not known. */
export function decodeBody(body: Buffer, contentEncoding: string | undefined, most: number = mostOfError): Buffer {
  if (contentEncoding === undefined) return body;
  const encoding = contentEncoding.trim().toLowerCase().replace(/^x-/, '');
  if (encoding === '' || encoding === 'identity') return body;
  const decode = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
  try {
    return decode?.(body, most) ?? nothing;
  } catch {
    return nothing;
  }
}
