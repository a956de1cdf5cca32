// Finds texts by the name of their member in a body that is valid JSON, wherever they stand, without reading the body.

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a];

/** A text, and where it stands with its quotes. */
export interface MemberText {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The texts that are values of members of this name. `key`: the name in quotes. */
export function* memberTexts(body: Buffer, key: Buffer): Generator<MemberText, void, undefined> {
  for (const start of memberTextStarts(body, key)) {
    const end = endOfText(body, start);
    yield { text: JSON.parse(body.toString('utf8', start, end)) as string, start, end };
  }
}

/** Where they begin, at their first quote. In texts that hold JSON the quotes of the name are escaped. */
export function* memberTextStarts(body: Buffer, key: Buffer): Generator<number, void, undefined> {
  for (let at = body.indexOf(key); at !== -1; at = body.indexOf(key, at + key.length)) {
    if (body[at - 1] === backslash) continue;
    const behind = skipBlanks(body, at + key.length);
    if (body[behind] !== colon) continue;
    const start = skipBlanks(body, behind + 1);
    if (body[start] === quote) yield start;
  }
}

/** The next byte that is no white space of JSON. */
export function skipBlanks(body: Buffer, from: number): number {
  let at = from;
  while (body[at] === 0x20 || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at += 1;
  return at;
}

/** Behind the quote that ends the text which begins at `start`. */
function endOfText(body: Buffer, start: number): number {
  let at = start + 1;
  while (at < body.length && body[at] !== quote) at += body[at] === backslash ? 2 : 1;
  return at + 1;
}
