// A body as values that guardrails can change, and back: at once where it is short, in slices where it is long.
import { type EditableObject, editable } from '../dialects/editing.ts';
import { parseObject, writeJson } from '../dialects/json/json.ts';
import { parsedBody, parsedObject, writtenBody } from '../http/parsed-body.ts';
import { inSlices, type Slices } from '../pacing/slices.ts';
import { type Flow, settled } from './flow.ts';
import { longestPlaceholder, placeholdersIn } from './masks.ts';

/** A body of so many bytes is read and written in a few milliseconds, and without a pause. */
export const shortBytes = 256 * 1024;

/** The body of a request, which was checked to be JSON. Throws 400 `body_too_many_keys`. */
export function* requestValues(bytes: Buffer): Flow<EditableObject> {
  if (bytes.length <= shortBytes) return editable(parseObject(bytes.toString('utf8'))) ?? {};
  return editable(yield* settled(inSlices(parsedBody(bytes)))) ?? {};
}

/** The body of an answer; undefined: it is no JSON object, or holds too many values. */
export function* answerValues(bytes: Buffer): Flow<EditableObject | undefined> {
  return bytes.length <= shortBytes
    ? editable(parseObject(bytes.toString('utf8')))
    : editable(yield* settled(inSlices(parsedObject(bytes))));
}

/** Values as bytes. `length`: about how many bytes that is. */
export function* writtenValues(body: EditableObject, length: number): Flow<Buffer> {
  return length <= shortBytes ? Buffer.from(writeJson(body)) : yield* settled(inSlices(writtenBody(body, true)));
}

/** Letters and signs of ASCII that are written as escapes. */
const plainEscapes = /\\u00[2-7]/;

/**
 * Returns a function with the placeholders in the client's own words, plain or with escapes. Long bodies are searched
 * at once.
 */
export function* findTaken(bytes: Buffer): Flow<() => ReadonlySet<string>> {
  if (bytes.length > shortBytes) {
    const found = yield* settled(inSlices(takenInLong(bytes)));
    return () => found;
  }
  return () => {
    const text = bytes.toString('latin1');
    return placeholdersIn(plainEscapes.test(text) ? writeJson(parseObject(bytes.toString('utf8')) ?? {}) : text);
  };
}

function* takenInLong(bytes: Buffer): Slices<ReadonlySet<string>> {
  let written = bytes;
  for (const text of overlapping(bytes)) {
    yield;
    if (!plainEscapes.test(text)) continue;
    written = yield* writtenBody(yield* parsedBody(bytes), true);
    break;
  }
  const found = new Set<string>();
  for (const text of overlapping(written)) {
    yield;
    for (const placeholder of placeholdersIn(text)) found.add(placeholder);
  }
  return found;
}

const stepBytes = 256 * 1024;

/** The bytes step by step, a byte as a character; nothing of the length of a placeholder is cut. */
function* overlapping(bytes: Buffer): Generator<string, void, undefined> {
  for (let from = 0; from < bytes.length; from += stepBytes)
    yield bytes.toString('latin1', from, Math.min(bytes.length, from + stepBytes + longestPlaceholder));
}
