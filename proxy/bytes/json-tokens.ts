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

/** From here on a text is looked at in words: to make their view takes about as long as so many bytes. */
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

/** The rest of a text: prompts are long, and 64 KiB take 18 µs instead of 115 byte by byte. */
function skipLongText(body: Buffer, from: number, pause: number): number {
  // The first byte that lies at a whole word of the memory.
  const base = -body.byteOffset & 3;
  const words = new Int32Array(body.buffer, body.byteOffset + base, (body.length - base) >> 2);
  const end = (Math.min(body.length, pause) - base) >> 2;
  let at = from;
  for (;;) {
    do {
      if (at > pause) return -at;
      const byte = body[at];
      if (byte === 0x22) return at + 1;
      if (byte === 0x5c) at = skipEscape(body, at);
      else if (byte === undefined || byte < 0x20) throw new ScanError('syntax', at);
      else at += 1;
    } while (((at - base) & 3) !== 0);
    at = base + nextUnusual(words, (at - base) >> 2, end);
  }
}

/** The upper bit of each byte of a word. */
const uppers = 0x80808080;

/** The offset, in bytes, of the first byte in these words that `unusualIn` marks; of the first word that was not looked at where there is none. */
function nextUnusual(words: Int32Array, from: number, end: number): number {
  let at = from;
  for (; at <= end - 4; at += 4) {
    const first = unusualIn(words[at] as number);
    const second = unusualIn(words[at + 1] as number);
    const third = unusualIn(words[at + 2] as number);
    const fourth = unusualIn(words[at + 3] as number);
    if (((first | second | third | fourth) & uppers) === 0) continue;
    if ((first & uppers) !== 0) return 4 * at + firstOf(first & uppers);
    if ((second & uppers) !== 0) return 4 * at + 4 + firstOf(second & uppers);
    if ((third & uppers) !== 0) return 4 * at + 8 + firstOf(third & uppers);
    return 4 * at + 12 + firstOf(fourth & uppers);
  }
  return 4 * at;
}

/**
 * Has the upper bits of those bytes of a word that are a quote, a backslash or a control character, and maybe of later ones; other bits mean
 * nothing. A byte below n is the first one that a subtraction of n from each makes negative (Bit Twiddling Hacks, "Determine if a word has a
 * byte less than n"). With its second bit turned, a quote is 0x20, and below 0x21 like the control characters; a blank is not. Equal bytes
 * become 0, which is below 1. Bytes beyond ASCII were negative before.
 */
function unusualIn(word: number): number {
  const isControlOrQuote = (word ^ 0x02020202) - 0x21212121;
  const isBackslash = (word ^ 0x5c5c5c5c) - 0x01010101;
  return (isControlOrQuote | isBackslash) & ~word;
}

const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Which byte of a word in memory the first of these bits is in. */
function firstOf(bits: number): number {
  return (isLittleEndian ? 31 - Math.clz32(bits & -bits) : Math.clz32(bits)) >> 3;
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
