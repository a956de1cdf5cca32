// Reads the counts of a usage object from its bytes, as every provider writes them. Every answer has one, and to make text and an object of
// it takes twice as long, with OpenAI's details five times.
import { isDigit, skipSpace } from '../bytes/json-tokens.ts';
import { spells } from '../bytes/spells.ts';
import { type Counts, emptyCounts, type Reading } from './counts.ts';

const quote = 0x22;
const backslash = 0x5c;
const opening = 0x7b;
const closing = 0x7d;
const colon = 0x3a;
const comma = 0x2c;
/** The end of the keys of all counts. */
const countEnding = 'tokens';
/** More digits than any count has, and few enough to be exact. */
const mostDigits = 15;

/**
 * Of the object that opens at `from` and ends before `to`. Undefined when something in it is unusual, although it may be valid: an escaped
 * key, a list, a count that is no whole number, an object within details, the same details by two names. A usage object that is nested in it
 * is passed over.
 */
export function readCounts(body: Buffer, from: number, to: number): Counts | undefined {
  const counts = emptyCounts();
  let seen = 0;
  let at = skipSpace(body, from + 1);
  if (body[at] === closing) return counts;
  while (at < to) {
    const keyEnd = textEnd(body, at, to);
    if (keyEnd === -1) return undefined;
    const separator = skipSpace(body, keyEnd + 1);
    if (body[separator] !== colon) return undefined;
    const start = skipSpace(body, separator + 1);
    const details = body[start] === opening ? detailsNamed(body, at, keyEnd) : noDetails;
    let end: number;
    if (details !== noDetails) {
      if ((seen & details) !== 0) return undefined;
      seen |= details;
      end = readDetails(counts, details, body, { start, to });
      if (end === -1) return undefined;
    } else {
      end = valueEnd(body, start, to);
      if (end !== -1) {
        if (body[start] !== opening) keep(counts, body, { at, keyEnd, start, end });
      } else {
        // Of a count nothing else is usual.
        if (spells(body, keyEnd - countEnding.length, countEnding)) return undefined;
        end = otherEnd(body, start, to);
        if (end === -1) return undefined;
      }
    }
    const next = skipSpace(body, end);
    if (body[next] === closing) return counts;
    if (body[next] !== comma) return undefined;
    at = skipSpace(body, next + 1);
  }
  return undefined;
}

/** Whose parts an object names; different bits. */
const noDetails = 0;
const inputDetails = 1;
const outputDetails = 2;
const cacheDetails = 4;
type Details = typeof inputDetails | typeof outputDetails | typeof cacheDetails;

function detailsNamed(body: Buffer, at: number, keyEnd: number): Details | typeof noDetails {
  const from = at + 1;
  switch (keyEnd - from) {
    case 14:
      return spells(body, from, 'cache_creation') ? cacheDetails : noDetails;
    case 19:
      return spells(body, from, 'input_token_details') ? inputDetails : noDetails;
    case 20:
      if (spells(body, from, 'input_tokens_details')) return inputDetails;
      return spells(body, from, 'output_token_details') ? outputDetails : noDetails;
    case 21:
      if (spells(body, from, 'prompt_tokens_details')) return inputDetails;
      return spells(body, from, 'output_tokens_details') ? outputDetails : noDetails;
    case 25:
      return spells(body, from, 'completion_tokens_details') ? outputDetails : noDetails;
    default:
      return noDetails;
  }
}

/** Of the object at `start`: just past it; -1 when it holds anything but whole numbers and null. */
function readDetails(
  counts: Reading,
  details: Details,
  body: Buffer,
  { start: from, to }: { readonly start: number; readonly to: number },
): number {
  let at = skipSpace(body, from + 1);
  if (body[at] === closing) return at + 1;
  while (at < to) {
    const keyEnd = textEnd(body, at, to);
    if (keyEnd === -1) return -1;
    const separator = skipSpace(body, keyEnd + 1);
    if (body[separator] !== colon) return -1;
    const start = skipSpace(body, separator + 1);
    let end = wholeNumberEnd(body, start);
    if (end !== -1) keepDetail(counts, details, body, { at, keyEnd, start, end });
    else {
      if (!spells(body, start, 'null')) return -1;
      end = start + 4;
    }
    const next = skipSpace(body, end);
    if (body[next] === closing) return next + 1;
    if (body[next] !== comma) return -1;
    at = skipSpace(body, next + 1);
  }
  return -1;
}

interface MemberSpan {
  readonly at: number;
  readonly keyEnd: number;
  readonly start: number;
  readonly end: number;
}

/** The output by OpenAI's name wins, and a part by the name in its details. */
function keep(counts: Reading, body: Buffer, { at, keyEnd, start, end }: MemberSpan): void {
  const from = at + 1;
  switch (keyEnd - from) {
    case 7:
      if (spells(body, from, 'seconds')) counts.seconds = numberAt(body, start, end);
      break;
    case 12:
      if (spells(body, from, 'total_tokens')) counts.total = numberAt(body, start, end);
      else if (spells(body, from, 'input_tokens')) counts.input = numberAt(body, start, end);
      break;
    case 13:
      if (spells(body, from, 'prompt_tokens')) counts.prompt = numberAt(body, start, end);
      else if (spells(body, from, 'output_tokens')) counts.output ??= numberAt(body, start, end);
      else if (spells(body, from, 'cached_tokens')) counts.cached ??= numberAt(body, start, end);
      break;
    case 16:
      if (spells(body, from, 'reasoning_tokens')) counts.reasoning ??= numberAt(body, start, end);
      break;
    case 17:
      if (spells(body, from, 'completion_tokens')) counts.output = numberAt(body, start, end);
      break;
    case 23:
      if (spells(body, from, 'cache_read_input_tokens')) counts.cacheRead = numberAt(body, start, end);
      else if (spells(body, from, 'prompt_cache_hit_tokens')) counts.cached ??= numberAt(body, start, end);
      break;
    case 27:
      if (spells(body, from, 'cache_creation_input_tokens')) counts.cacheWrite = numberAt(body, start, end);
      break;
  }
}

function keepDetail(counts: Reading, details: Details, body: Buffer, { at, keyEnd, start, end }: MemberSpan): void {
  const from = at + 1;
  switch (keyEnd - from) {
    case 12:
      if (details === cacheDetails || !spells(body, from, 'audio_tokens')) break;
      if (details === inputDetails) counts.audioInput = numberAt(body, start, end);
      else counts.audioOutput = numberAt(body, start, end);
      break;
    case 13:
      if (details === inputDetails && spells(body, from, 'cached_tokens')) counts.cached = numberAt(body, start, end);
      break;
    case 15:
      if (details === outputDetails && spells(body, from, 'thinking_tokens'))
        counts.reasoning ??= numberAt(body, start, end);
      break;
    case 16:
      if (details === outputDetails && spells(body, from, 'reasoning_tokens'))
        counts.reasoning = numberAt(body, start, end);
      break;
    case 18:
      if (details === inputDetails && spells(body, from, 'cache_write_tokens'))
        counts.written = numberAt(body, start, end);
      break;
    case 25:
      if (details === cacheDetails && spells(body, from, 'ephemeral_1h_input_tokens'))
        counts.hourCacheWrite = numberAt(body, start, end);
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
  return wholeNumberEnd(body, from);
}

function wholeNumberEnd(body: Buffer, from: number): number {
  let at = from;
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
