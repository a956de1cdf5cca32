// The fewest tokens that a text can be, from its bytes alone, for whoever must not guess too high.

/** Bodies up to this length are read whole, a nanosecond a byte; of longer ones so many bytes are sampled. */
const readBytes = 256 * 1024;
const samples = 64 * 1024;
/** What samples say is lowered by so many standard deviations. */
const deviations = 4;
/** No vocabulary has words of Chinese, Japanese or Korean that are longer on average. Letters. */
const lettersPerToken = 3;

/** The fewest bytes of a token that `fewestTokens` counts: a blank and a letter. */
export const leastTokenBytes = 2;

const blank = 0x20;
/** The first bytes in UTF-8 of the scripts that need no blanks: kana, Han, Hangul. */
const firstOfEast = 0xe3;
const lastOfEast = 0xed;

/**
 * A lower bound of the tokens of a JSON body: each word behind a blank is at least one, because tokenizers do not join words. Texts in base64
 * and links have no blanks, and count nothing. Prose in English has about a quarter more tokens than this, code twice as many. Takes two
 * milliseconds at most, however long the body is.
 */
export function fewestTokens(body: Buffer): number {
  const { length } = body;
  let parts = 0;
  if (length <= readBytes) {
    for (let at = 1; at < length; at += 1) parts += partsAt(body, at);
    return Math.floor(parts / lettersPerToken);
  }
  // The places are random, so that no text can be made to evade them.
  for (let time = 0; time < samples; time += 1) parts += partsAt(body, 1 + Math.floor(Math.random() * (length - 1)));
  const sure = Math.max(0, parts - deviations * Math.sqrt(lettersPerToken * parts));
  return Math.floor((sure / lettersPerToken) * (length / samples));
}

/** What begins at a byte, in parts of a token of which `lettersPerToken` are one. */
function partsAt(body: Buffer, at: number): number {
  const byte = body[at] as number;
  if (byte >= firstOfEast && byte <= lastOfEast) return 1;
  return body[at - 1] === blank && isLetter(byte) ? lettersPerToken : 0;
}

/** Of any script; the bytes inside of a character are none. */
function isLetter(byte: number): boolean {
  return byte >= 0xc0 || (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a);
}
