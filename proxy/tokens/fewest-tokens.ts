// The fewest tokens that a text can be, from its bytes alone, for decisions that must not guess too high.

/** Bodies up to this length are read whole; of longer ones pieces of that length are sampled, so many of them. Bytes. */
const readBytes = 64 * 1024;
const pieceBytes = 256;
const pieces = 256;
/** What samples say is lowered by so many standard errors. */
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
 * and links have no blanks, and count nothing. Prose in English has about a quarter more tokens than this, code twice as many. Reads 64 KiB at
 * most, however long the body is.
 */
export function fewestTokens(body: Buffer): number {
  const { length } = body;
  if (length <= readBytes) return Math.floor(partsIn(body, 1, length) / lettersPerToken);
  let [sum, squares] = [0, 0];
  for (let piece = 0; piece < pieces; piece += 1) {
    // The places are random, so that no text can be made to evade them.
    const from = 1 + Math.floor(Math.random() * (length - pieceBytes));
    const parts = partsIn(body, from, from + pieceBytes);
    sum += parts;
    squares += parts * parts;
  }
  const mean = sum / pieces;
  const error = Math.sqrt((squares / pieces - mean * mean) / pieces);
  const sure = Math.max(0, mean - deviations * error);
  return Math.floor((sure / lettersPerToken) * (length / pieceBytes));
}

/** What begins in these bytes, in parts of a token of which `lettersPerToken` are one. About a nanosecond a byte. */
function partsIn(body: Buffer, from: number, to: number): number {
  let parts = 0;
  let before = body[from - 1];
  for (let at = from; at < to; at += 1) {
    const byte = body[at] as number;
    if (byte >= firstOfEast && byte <= lastOfEast) parts += 1;
    else if (before === blank && isLetter(byte)) parts += lettersPerToken;
    before = byte;
  }
  return parts;
}

/** Of any script; the bytes inside of a character are none. */
function isLetter(byte: number): boolean {
  return byte >= 0xc0 || (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a);
}
