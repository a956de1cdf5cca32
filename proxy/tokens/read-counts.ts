// Reads the counts of a usage object from its bytes, as every provider writes them. Every answer has one, and to make text and an object of
// it takes twice as long, with OpenAI's details five times.
import { isDigit, skipSpace } from '../bytes/json-tokens.ts';
import { spells } from '../bytes/spells.ts';
import type { Counts } from './token-usage.ts';

type Reading = { -readonly [Key in keyof Counts]: Counts[Key] };

const quote = 0x22;
const backslash = 0x5c;
const opening = 0x7b;
const closing = 0x7d;
const colon = 0x3a;
const comma = 0x2c;
/** So end the keys of all counts. */
const countEnding = 'tokens';
/** More digits than any count has, and few enough to be exact. */
const mostDigits = 15;

/**
 * Of the object that opens at `from` and ends before `to`. Undefined when something in it is unusual, although it may be valid: an escaped
 * key, a list, a count that is no whole number. A usage object that is nested in it is passed over.
 */
export function readCounts(body: Buffer, from: number, to: number): Counts | undefined {
  const counts: Reading = {
    prompt: undefined,
    input: undefined,
    output: undefined,
    total: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
  };
  let at = skipSpace(body, from + 1);
  if (body[at] === closing) return counts;
  while (at < to) {
    const keyEnd = textEnd(body, at, to);
    if (keyEnd === -1) return undefined;
    const separator = skipSpace(body, keyEnd + 1);
    if (body[separator] !== colon) return undefined;
    const start = skipSpace(body, separator + 1);
    let end = valueEnd(body, start, to);
    if (end !== -1) {
      if (body[start] !== opening) keep(counts, body, { at, keyEnd, start, end });
    } else {
      // Of a count nothing else is usual.
      if (spells(body, keyEnd - countEnding.length, countEnding)) return undefined;
      end = otherEnd(body, start, to);
      if (end === -1) return undefined;
    }
    const next = skipSpace(body, end);
    if (body[next] === closing) return counts;
    if (body[next] !== comma) return undefined;
    at = skipSpace(body, next + 1);
  }
  return undefined;
}

interface Place {
  readonly at: number;
  readonly keyEnd: number;
  readonly start: number;
  readonly end: number;
}

/** The output by OpenAI's name wins. */
function keep(counts: Reading, body: Buffer, { at, keyEnd, start, end }: Place): void {
  switch (keyEnd - at - 1) {
    case 12:
      if (spells(body, at + 1, 'total_tokens')) counts.total = numberAt(body, start, end);
      else if (spells(body, at + 1, 'input_tokens')) counts.input = numberAt(body, start, end);
      break;
    case 13:
      if (spells(body, at + 1, 'prompt_tokens')) counts.prompt = numberAt(body, start, end);
      else if (spells(body, at + 1, 'output_tokens')) counts.output ??= numberAt(body, start, end);
      break;
    case 17:
      if (spells(body, at + 1, 'completion_tokens')) counts.output = numberAt(body, start, end);
      break;
    case 23:
      if (spells(body, at + 1, 'cache_read_input_tokens')) counts.cacheRead = numberAt(body, start, end);
      break;
    case 27:
      if (spells(body, at + 1, 'cache_creation_input_tokens')) counts.cacheWrite = numberAt(body, start, end);
      break;
  }
}

/** Just past a whole number, or an object that holds no other and no escapes; -1 for any other value. */
function valueEnd(body: Buffer, from: number, to: number): number {
  let at = from;
  if (body[at] === opening) {
    for (at += 1; body[at] !== closing; at += 1) {
      const byte = body[at];
      if (at >= to || byte === opening) return -1;
      if (byte !== quote) continue;
      at = textEnd(body, at, to);
      if (at === -1) return -1;
    }
    return at + 1;
  }
  while (isDigit(body[at])) at += 1;
  const digits = at - from;
  return digits === 0 || digits > mostDigits || (digits > 1 && body[from] === 0x30) ? -1 : at;
}

/** Just past a text without escapes, or null, as Anthropic has them beside its counts; -1 for any other value. */
function otherEnd(body: Buffer, from: number, to: number): number {
  if (body[from] === quote) return textEnd(body, from, to) + 1 || -1;
  return spells(body, from, 'null') ? from + 4 : -1;
}

function numberAt(body: Buffer, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at += 1) value = value * 10 + ((body[at] as number) - 0x30);
  return value;
}

/** The offset of the quote that ends the text that begins with the quote at `from`; -1 when there is none before `to`, or an escape before it. */
function textEnd(body: Buffer, from: number, to: number): number {
  if (body[from] !== quote) return -1;
  for (let at = from + 1; at < to; at += 1) {
    const byte = body[at];
    if (byte === quote) return at;
    if (byte === backslash) return -1;
  }
  return -1;
}
