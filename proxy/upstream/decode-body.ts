// Undoes the compression of a body that is read here: providers compress in spite of `accept-encoding: identity`.
import { promisify } from 'node:util';
import {
  brotliDecompress,
  brotliDecompressSync,
  constants,
  gunzip,
  gunzipSync,
  inflate,
  inflateRaw,
  inflateRawSync,
  inflateSync,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib';

/** Far more than an error says, and short enough to be unpacked at once: less than a millisecond. Bytes. */
const mostOfError = 64 * 1024;
const nothing = Buffer.alloc(0);

const flush = { finishFlush: constants.Z_SYNC_FLUSH };
const brotliFlush = { finishFlush: constants.BROTLI_OPERATION_FLUSH };
/** Half of the world sends `deflate` without its zlib header. */
const hasZlibHeader = (body: Buffer): boolean => (body[0] ?? 0) % 16 === 8;

type Decode<Decoded> = (body: Buffer, maxOutputLength: number) => Decoded;

/** At once, and beside other work. */
const decoders: Readonly<Record<string, { readonly now: Decode<Buffer>; readonly later: Decode<Promise<Buffer>> }>> = {
  gzip: {
    now: (body, maxOutputLength) => gunzipSync(body, { maxOutputLength, ...flush }),
    later: (body, maxOutputLength) => promisify(gunzip)(body, { maxOutputLength, ...flush }),
  },
  br: {
    now: (body, maxOutputLength) => brotliDecompressSync(body, { maxOutputLength, ...brotliFlush }),
    later: (body, maxOutputLength) => promisify(brotliDecompress)(body, { maxOutputLength, ...brotliFlush }),
  },
  zstd: {
    now: (body, maxOutputLength) => zstdDecompressSync(body, { maxOutputLength }),
    later: (body, maxOutputLength) => promisify(zstdDecompress)(body, { maxOutputLength }),
  },
  deflate: {
    now: (body, maxOutputLength) =>
      (hasZlibHeader(body) ? inflateSync : inflateRawSync)(body, { maxOutputLength, ...flush }),
    later: (body, maxOutputLength) =>
      promisify(hasZlibHeader(body) ? inflate : inflateRaw)(body, { maxOutputLength, ...flush }),
  },
};

/** The encoding of a body: as it is named, or gzip where the bytes begin so and no name was given, which proxies forget. */
export function encodingOf(body: Buffer, named: string | undefined): string | undefined {
  return named ?? (body[0] === 0x1f && body[1] === 0x8b ? 'gzip' : undefined);
}

/** The bytes behind a Content-Encoding, at most `most`; none when they are more, damaged, or encoded in a way that is not known. */
export function decodeBody(body: Buffer, contentEncoding: string | undefined, most: number = mostOfError): Buffer {
  const encoding = nameOf(contentEncoding);
  if (encoding === '') return body;
  try {
    return decoderOf(encoding)?.now(body, most) ?? nothing;
  } catch {
    return nothing;
  }
}

/** The same for what may become long: the event loop does not wait for it. */
export async function decodeLongBody(body: Buffer, contentEncoding: string | undefined, most: number): Promise<Buffer> {
  const encoding = nameOf(contentEncoding);
  if (encoding === '') return body;
  return (
    (await decoderOf(encoding)
      ?.later(body, most)
      .catch(() => nothing)) ?? nothing
  );
}

/** Empty: it is not encoded. */
function nameOf(contentEncoding: string | undefined): string {
  const encoding = contentEncoding?.trim().toLowerCase().replace(/^x-/, '') ?? '';
  return encoding === 'identity' ? '' : encoding;
}

function decoderOf(encoding: string): (typeof decoders)[string] | undefined {
  return Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
}
