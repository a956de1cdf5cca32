// Finds texts by the name of their member in a body that is valid JSON, wherever they stand, without reading the body.
import { skipSpace, skipString } from './json-tokens.ts';

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
    const end = skipString(body, start);
    yield { text: JSON.parse(body.toString('utf8', start, end)) as string, start, end };
  }
}

/** Where they begin, at their first quote. In texts that hold JSON the quotes of the name are escaped. */
export function* memberTextStarts(body: Buffer, key: Buffer): Generator<number, void, undefined> {
  for (let at = body.indexOf(key); at !== -1; at = body.indexOf(key, at + key.length)) {
    if (body[at - 1] === backslash) continue;
    const behind = skipSpace(body, at + key.length);
    if (body[behind] !== colon) continue;
    const start = skipSpace(body, behind + 1);
    if (body[start] === quote) yield start;
  }
}
