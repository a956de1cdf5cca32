// The entries of a list in a long JSON text, one after the other: the text is never made into values as a whole, which would take too long.
import { skipSpace, skipString } from '../../bytes/json-tokens.ts';
import { skipValue } from '../../bytes/skip-value.ts';

/** A longer entry is none that is looked for: it is passed over. Bytes. */
const longestEntry = 64 * 1024;
/** The size of one step: bytes, and entries, which may be short. */
const stepBytes = 256 * 1024;
const stepEntries = 5_000;

const [quote, comma, colon] = [0x22, 0x2c, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * The result of `read` for each entry of the list that the text is, or of the list in its member `name`; `read` gets
 * undefined for an entry that is too long. In steps of a few milliseconds. Returns undefined when there is no such
 * list. Throws a SyntaxError or ScanError for bytes that are not JSON, as far as it reads them.
 */
export function* listEntries<Entry>(
  text: Buffer,
  name: string,
  read: (entry: unknown) => Entry,
): Generator<undefined, Entry[] | undefined, undefined> {
  const start = listIn(text, name);
  if (start === undefined) return undefined;
  const entries: Entry[] = [];
  let at = skipSpace(text, start + 1);
  if (text[at] === closeBracket) return entries;
  for (let paused = at, count = 0; ; count += 1) {
    const end = skipValue(text, at);
    entries.push(read(end - at > longestEntry ? undefined : valueIn(text, at, end)));
    at = skipSpace(text, end);
    if (text[at] === closeBracket) return entries;
    at = skipSpace(text, passed(text, at, comma));
    if (at - paused < stepBytes && count < stepEntries) continue;
    yield;
    [paused, count] = [at, 0];
  }
}

/** Where the list begins. */
function listIn(text: Buffer, name: string): number | undefined {
  let at = skipSpace(text, 0);
  if (text[at] === openBracket) return at;
  if (text[at] !== openBrace) return undefined;
  at = skipSpace(text, at + 1);
  while (text[at] === quote) {
    const keyEnd = skipString(text, at);
    const isWanted = valueIn(text, at, keyEnd) === name;
    at = skipSpace(text, passed(text, skipSpace(text, keyEnd), colon));
    if (isWanted) return text[at] === openBracket ? at : undefined;
    at = skipSpace(text, skipValue(text, at));
    if (text[at] === closeBrace) return undefined;
    at = skipSpace(text, passed(text, at, comma));
  }
  return undefined;
}

function valueIn(text: Buffer, from: number, to: number): unknown {
  return JSON.parse(text.toString('utf8', from, to));
}

/** The offset behind this byte. */
function passed(text: Buffer, at: number, byte: number): number {
  if (text[at] === byte) return at + 1;
  throw new SyntaxError(`unexpected byte at ${at}`);
}
