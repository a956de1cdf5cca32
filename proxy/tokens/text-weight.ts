// How many tokens a text may be, from its bytes alone: a Latin letter is a quarter of a token, a letter of any other script a whole one.

/** Quarters of a token in one token. */
export const perToken = 4;
/** Bytes that are sampled of a text too long to read whole: the error of the mean is below one percent. */
export const sampleBytes = 64 * 1024;

/** The first byte of letters beyond Latin begins here, that of characters of four bytes there. */
const firstWide = 0xca;
const firstOfFour = 0xf0;

/**
 * Quarters of a token by the first byte of a UTF-8 character; the bytes that follow it weigh nothing. Latin letters with marks (up to
 * U+027F) weigh twice as much as plain ones. A character of four bytes (emoji, rare Han) is two tokens.
 */
const weights = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte < 0x80) return 1;
  if (byte < 0xc0) return 0;
  if (byte < firstWide) return 2;
  return byte < firstOfFour ? perToken : 2 * perToken;
});

/** The tokens of letters beyond Latin in these bytes of UTF-8: the first byte of each is looked at, about a nanosecond a byte. */
export function wideTokensOf(bytes: Buffer): number {
  let tokens = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte >= firstWide) tokens += byte < firstOfFour ? 1 : 2;
  }
  return tokens;
}

/** Quarters of a token in these bytes of UTF-8: every byte is read, about a nanosecond each. */
export function weigh(bytes: Buffer, from: number, to: number): number {
  let sum = 0;
  for (let at = from; at < to; at += 1) sum += weights[bytes[at] as number] as number;
  return sum;
}

/**
 * `weigh` for a text of any length, in at most a millisecond. The samples are random, so that no text can be made to
 * evade them.
 */
export function weighSome(bytes: Buffer, from: number, to: number): number {
  const length = to - from;
  if (length <= sampleBytes) return weigh(bytes, from, to);
  let sum = 0;
  for (let time = 0; time < sampleBytes; time += 1) {
    sum += weights[bytes[from + Math.floor(Math.random() * length)] as number] as number;
  }
  return Math.ceil((sum / sampleBytes) * length);
}
