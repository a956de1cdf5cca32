// The tokens of JSON (RFC 8259), passed byte by byte: each function goes from an offset to the one behind a token, or throws ScanError.
import { ScanError } from './scan-error.ts';

/** The offset of the next byte that is no white space, or `end` where there is none before it. */
export function skipSpace(body: Buffer, from: number, end: number = Number.POSITIVE_INFINITY): number {
  let at = from;
  while (at < end) {
    const byte = body[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at += 1;
  }
  return end;
}

/** From here on a text is looked at in blocks: to make their view takes about as long as so many bytes. */
const longBytes = 32;

/** `from` is at the opening quote; the answer is just past the closing one. */
export function skipString(body: Buffer, from: number): number {
  return skipText(body, from + 1, Number.POSITIVE_INFINITY);
}

/**
 * `skipString` from any offset within a text, except inside an escape. Stops a few bytes behind `pause`: where the text
 * goes on, returns the offset to continue from, as `-offset`.
 */
export function skipText(body: Buffer, from: number, pause: number): number {
  let at = from;
  const long = at + longBytes;
  for (;;) {
    const byte = body[at];
    if (byte === 0x22) return at + 1;
    if (byte === 0x5c) at = skipEscape(body, at);
    else if (byte === undefined || byte < 0x20) throw new ScanError('syntax', at);
    else at += 1;
    if (at >= long) return skipLongText(body, at, pause);
  }
}

/** The number of bytes of a long text that are searched at once. */
const blockBytes = 16;

/** The rest of a text: prompts are long, and 8 KiB take 2.8 µs instead of 7 byte by byte. */
function skipLongText(body: Buffer, from: number, pause: number): number {
  const words = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const last = Math.min(body.length - blockBytes, pause);
  let at = from;
  for (;;) {
    while (at <= last) {
      const first = unusualIn(words.getInt32(at, true));
      const second = unusualIn(words.getInt32(at + 4, true));
      const third = unusualIn(words.getInt32(at + 8, true));
      const fourth = unusualIn(words.getInt32(at + 12, true));
      if ((first | second | third | fourth) !== 0) {
        if (first !== 0) at += firstOf(first);
        else if (second !== 0) at += 4 + firstOf(second);
        else if (third !== 0) at += 8 + firstOf(third);
        else at += 12 + firstOf(fourth);
        break;
      }
      at += blockBytes;
    }
    if (at > pause) return -at;
    const byte = body[at];
    if (byte === 0x22) return at + 1;
    if (byte === 0x5c) at = skipEscape(body, at);
    else if (byte === undefined || byte < 0x20) throw new ScanError('syntax', at);
    else at += 1;
  }
}

/**
 * The upper bits of those bytes of a word that are a quote, a backslash or a control character, and maybe of later ones. A byte below n is
 * the first one that a subtraction of n from each makes negative (Bit Twiddling Hacks, "Determine if a word has a byte less than n"); equal
 * bytes become 0, which is below 1. Bytes beyond ASCII were negative before.
 */
function unusualIn(word: number): number {
  const belowBlank = word - 0x20202020;
  const isQuote = (word ^ 0x22222222) - 0x01010101;
  const isBackslash = (word ^ 0x5c5c5c5c) - 0x01010101;
  return (belowBlank | isQuote | isBackslash) & ~word & 0x80808080;
}

/** Which byte the lowest bit is in. */
function firstOf(bits: number): number {
  return (31 - Math.clz32(bits & -bits)) >> 3;
}

/** By the byte behind a backslash: 1 where that is all of an escape. */
const escapes = Uint8Array.from({ length: 256 }, (_, byte) =>
  '"\\/bfnrt'.includes(String.fromCharCode(byte)) ? 1 : 0,
);

function skipEscape(body: Buffer, from: number): number {
  const kind = body[from + 1];
  if (kind !== 0x75) {
    if (kind === undefined || escapes[kind] !== 1) throw new ScanError('syntax', from);
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
