// The body of a request as values, and values as bytes: at once where it is short, in slices where it is long.
import { isAscii } from 'node:buffer';
import { isObject, type JsonObject, type JsonValue, parseJson, writeJson } from '../dialects/json/json.ts';
import { readingJson, TooManyValues } from '../dialects/json/read-json.ts';
import { writingJson } from '../dialects/json/write-json.ts';
import { refusal } from '../errors.ts';
import { type Slices, shortBytes } from '../pacing/slices.ts';

/** The object that a body holds, which was checked to be JSON. Throws 400 `body_too_many_keys`. */
export function* parsedBody(body: Buffer): Slices<JsonObject> {
  try {
    const parsed = body.length <= shortBytes ? parseJson(body.toString('utf8')) : yield* parsedText(body);
    if (isObject(parsed)) return parsed;
  } catch (error) {
    throw error instanceof TooManyValues ? refusal('body_too_many_keys') : error;
  }
  throw refusal('invalid_json', { fill: { reason: 'it must be an object' } });
}

/** The object that some bytes hold; undefined: they are none, or have too many values. */
export function* parsedObject(bytes: Buffer): Slices<JsonObject | undefined> {
  try {
    const parsed = bytes.length <= shortBytes ? parseJson(bytes.toString('utf8')) : yield* parsedText(bytes);
    return isObject(parsed) ? parsed : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function* parsedText(bytes: Buffer): Slices<JsonValue> {
  const text = yield* decodedText(bytes);
  yield;
  const parsed = yield* readingJson(text);
  yield;
  return parsed as JsonValue;
}

/** The number of bytes that are decoded in one step. */
const stepBytes = 2 * 1024 * 1024;

/** The text of long UTF-8: of ASCII in one copy, which is as fast as it can be; of anything else in parts. */
function* decodedText(bytes: Buffer): Slices<string> {
  if (isAscii(bytes)) return bytes.toString('latin1');
  let text = '';
  for (let from = 0; from < bytes.length; ) {
    let end = Math.min(bytes.length, from + stepBytes);
    // A character is not cut: bytes that go on with one begin with the bits 10.
    while (end < bytes.length && ((bytes[end] as number) & 0xc0) === 0x80) end += 1;
    text += bytes.toString('utf8', from, end);
    from = end;
    yield;
  }
  return joined(text);
}

/** The same text. The engine joins the parts of a text when it is first looked into, which takes some tens of milliseconds. */
function joined(text: string): string {
  return Number.isNaN(text.charCodeAt(0)) ? '' : text;
}

/** JSON as bytes. `isLong`: it may be long. */
export function* writtenBody(value: JsonValue, isLong: boolean): Slices<Buffer> {
  if (!isLong) return Buffer.from(writeJson(value));
  yield;
  return yield* writingJson(value);
}
