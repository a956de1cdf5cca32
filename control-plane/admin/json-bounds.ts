// Refuses a JSON body that holds more than an operator has to say, before it is parsed: to parse it and look through it takes no pause.
import { refusal } from '../errors.ts';

/** Objects and lists within each other; as many as a model request may have. */
const mostLevels = 128;
/** Members and entries; the longest list that is taken has 20,000 words. */
const mostValues = 25_000;

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Throws 400 `body_too_deep` and `body_too_many_values`. Whether the bytes are JSON is not looked at. 1 MiB takes some milliseconds. */
export function checkJsonBounds(body: Uint8Array): void {
  let levels = 0;
  let values = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === quote) at = closingQuote(body, at + 1);
    else if (byte === closeBrace || byte === closeBracket) levels -= 1;
    else if (byte === openBrace || byte === openBracket || byte === comma) {
      values += 1;
      if (byte !== comma) levels += 1;
      if (levels > mostLevels) throw refusal('body_too_deep', { fill: { limit: mostLevels } });
      if (values > mostValues) throw refusal('body_too_many_values', { fill: { limit: mostValues } });
    }
  }
}

/** The offset of the quote that ends a text, or of the end. */
function closingQuote(body: Uint8Array, from: number): number {
  let at = from;
  while (at < body.length && body[at] !== quote) at += body[at] === backslash ? 2 : 1;
  return at;
}
