// Whether bytes begin as a JSON object or list does, in any of the encodings that readers guess: some look at nothing but the bytes.

/** Blanks, byte order marks, and the zeros of characters of two and four bytes. */
const ignored: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0x00, 0xef, 0xbb, 0xbf, 0xfe, 0xff]);
const [openBrace, openBracket] = [0x7b, 0x5b];

/** Bytes that are looked at. A body that begins with nothing else may be JSON. */
const mostBytes = 1024;

export function opensJson(bytes: Buffer): boolean {
  for (const byte of bytes.subarray(0, mostBytes))
    if (!ignored.has(byte)) return byte === openBrace || byte === openBracket;
  return bytes.length > mostBytes;
}
