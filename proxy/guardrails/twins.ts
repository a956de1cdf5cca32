// A member that stands twice in an object of a JSON body: of two, a provider might obey the one that was not looked at.
import { skipText } from '../bytes/json-tokens.ts';

const [quote, comma, backslash] = [0x22, 0x2c, 0x5c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
/** The number of bytes that are read without a pause, in some milliseconds. */
const sliceBytes = 256 * 1024;

/** The name of the first one, at any depth; undefined: there is none. `body` is valid JSON. */
export function* twinIn(body: Buffer): Generator<undefined, string | undefined, undefined> {
  /** The keys of each object that is open; undefined: a list. */
  const open: (Set<string> | undefined)[] = [];
  let isKeyNext = false;
  let pause = sliceBytes;
  for (let at = 0; at < body.length; ) {
    if (at > pause) {
      pause = at + sliceBytes;
      yield;
    }
    const byte = body[at];
    if (byte === quote) {
      const end = yield* textEnd(body, at + 1);
      const keys = isKeyNext ? open.at(-1) : undefined;
      isKeyNext = false;
      if (keys !== undefined) {
        const key = keyIn(body, at, end);
        if (keys.has(key)) return key;
        keys.add(key);
      }
      at = end;
      continue;
    }
    if (byte === openBrace || byte === openBracket) open.push(byte === openBrace ? new Set() : undefined);
    else if (byte === closeBrace || byte === closeBracket) open.pop();
    if (byte === openBrace || byte === comma) isKeyNext = open.at(-1) !== undefined;
    else if (byte === openBracket || byte === closeBrace || byte === closeBracket) isKeyNext = false;
    at += 1;
  }
  return undefined;
}

/** Where a text that begins there ends, behind its quote. */
function* textEnd(body: Buffer, from: number): Generator<undefined, number, undefined> {
  let end = skipText(body, from, from + sliceBytes);
  while (end < 0) {
    yield;
    end = skipText(body, -end, -end + sliceBytes);
  }
  return end;
}

function keyIn(body: Buffer, start: number, end: number): string {
  const written = body.toString('utf8', start + 1, end - 1);
  return body.subarray(start, end).includes(backslash) ? (JSON.parse(`"${written}"`) as string) : written;
}
