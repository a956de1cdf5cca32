// Decodes the bytes of a file as UTF-8 text and rejects any other encoding.
import { isUtf8 } from 'node:buffer';

export type Decoded = { text: string; problem?: undefined } | { text?: undefined; problem: string; line: number };

/** Removes a byte order mark. UTF-16, NUL and invalid UTF-8 give a sentence and the line (0: the whole file). */
export function decode(bytes: Uint8Array): Decoded {
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    return { problem: 'is UTF-16 text; save it as UTF-8', line: 0 };
  }
  const nul = bytes.indexOf(0);
  if (nul !== -1) return { problem: 'holds a NUL byte, so it is not a text file in UTF-8', line: lineAt(bytes, nul) };
  if (!isUtf8(bytes))
    return { problem: 'holds bytes that are not UTF-8; save the file as UTF-8', line: firstBadLine(bytes) };
  return { text: new TextDecoder().decode(bytes) };
}

function lineAt(bytes: Uint8Array, offset: number): number {
  let line = 1;
  for (let at = bytes.indexOf(10); at !== -1 && at < offset; at = bytes.indexOf(10, at + 1)) line += 1;
  return line;
}

function firstBadLine(bytes: Uint8Array): number {
  let line = 1;
  let start = 0;
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
    if (!isUtf8(bytes.subarray(start, end))) return line;
    line += 1;
    start = end + 1;
  }
  return line;
}
