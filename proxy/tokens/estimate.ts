// Estimates tokens where a provider reports none. Reads the bytes of JSON once; bytes that are not JSON, or cut, are weighed as text.
import { isAscii } from 'node:buffer';
import type { Member } from '../bytes/scan.ts';
import { keysBy } from './key-names.ts';
import { isBase64, type MediaKind, namedMediaTokens, probes, sentMedia, sentMediaTokens } from './media.ts';
import { perToken, sampleBytes, weigh, weighSome } from './text-weight.ts';

/** Bytes that are read one by one, about five nanoseconds each; the rest is weighed by samples. */
const budgetBytes = 512 * 1024;
/** A string is searched for its end byte by byte so far, then natively: a call costs as much as that many bytes. */
const nearBytes = 64;
/** Shorter strings are texts, whatever they look like. Bytes. */
const shortestMedia = 128;
/** No number is longer. Bytes. */
const longestNumber = 32;
/** About what an event of a stream holds besides its text. Bytes. */
const eventOverhead = 256;
/** The bytes per token of most other scripts. */
const wideBytes = 3;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const letterN = 0x6e;
/** A bracket that opens is 0x5b or 0x7b, and its partner two above it; without this bit both kinds are the same. */
const braceBit = 0x20;
const opening = 0x5b;
const closing = 0x5d;

/** The kind of a key's value: media of a kind, possibly media, or (in answers) no text. */
type Meaning = MediaKind | 'anything' | 'silent';

const asked = keysBy<Meaning>({
  image: ['image_url'],
  audio: ['input_audio', 'audio_url'],
  video: ['video_url'],
  document: ['file_id', 'file_url'],
  anything: ['file', 'source', 'url', 'data', 'file_data', 'image', 'audio', 'video'],
});
/** The members of a request that hold media. Elsewhere, as in a tool's schema, these keys are names that the client chose. */
const mediaHolders = keysBy<'holder'>({ holder: ['messages', 'input'] });
const answered = keysBy<Meaning>({
  image: ['image_url', 'b64_json'],
  audio: ['audio'],
  anything: ['data', 'url'],
  silent: 'id object model created system_fingerprint service_tier usage logprobs finish_reason type role index'.split(
    ' ',
  ),
});

/** Where a walk through a JSON text is, and what it has found. */
interface Walk {
  readonly body: Buffer;
  readonly isRequest: boolean;
  /** All of it is ASCII, as far as that was looked at: then each text weighs as much as it has bytes. */
  readonly isPlain: boolean;
  /** Starts and ends of long texts in turn, in their order; the place of the next of them, and its start. */
  readonly longTexts: readonly number[];
  nextLong: number;
  longStart: number | undefined;
  at: number;
  spent: number;
  quarters: number;
  depth: number;
  /** Whether keys may have a meaning: always in an answer, in a request below `mediaHolders`. */
  mayHoldMedia: boolean;
  /** The meaning of the innermost key that has one, and the depth at which that key's value ends. */
  meaning: Meaning | undefined;
  meaningDepth: number;
}

/**
 * The tokens of a request body: keys, texts and numbers of all its members, whatever they are called; media by their kind. Takes
 * milliseconds at most, however long the body is. `members`: those that a scan found in it, which knows where its long texts end.
 */
export function estimateInput(body: Buffer, members: readonly Pick<Member, 'longTexts'>[] = []): number {
  return estimate(body, true, longTextsOf(members));
}

const none: readonly number[] = [];

/** Few requests have long texts. */
function longTextsOf(members: readonly Pick<Member, 'longTexts'>[]): readonly number[] {
  return members.some(({ longTexts }) => longTexts.length > 0) ? members.flatMap(({ longTexts }) => longTexts) : none;
}

/** The tokens of a JSON answer, or of a part of one: its texts. */
export function estimateOutput(body: Buffer): number {
  return estimate(body, false, []);
}

/**
 * The tokens of a stream of which so many events and bytes passed, with letters beyond Latin of so many tokens. An event is a token as a
 * rule; providers that put more into one show by its length, and in other scripts by its letters.
 */
export function estimateStreamOutput(events: number, bytes: number, wideTokens: number): number {
  const plainBytes = bytes - wideBytes * wideTokens - eventOverhead * events;
  return Math.max(events, wideTokens + Math.max(0, Math.floor(plainBytes / perToken)));
}

/** The tokens of a text of which no more is known than how long it is, and how long its parts are that are not all ASCII. */
export function estimateText(bytes: number, inWide: number): number {
  return Math.ceil((bytes - inWide) / perToken + inWide / wideBytes);
}

function estimate(body: Buffer, isRequest: boolean, longTexts: readonly number[]): number {
  const walk: Walk = {
    body,
    isRequest,
    isPlain: body.length <= sampleBytes && isAscii(body),
    longTexts,
    nextLong: 0,
    longStart: longTexts[0],
    at: 0,
    spent: 0,
    quarters: 0,
    depth: 0,
    mayHoldMedia: !isRequest,
    meaning: undefined,
    meaningDepth: 0,
  };
  while (walk.at < body.length) {
    if (walk.spent > budgetBytes) {
      walk.quarters += weighSome(body, walk.at, body.length);
      break;
    }
    const byte = body[walk.at] as number;
    if (byte === quote) takeString(walk);
    else if (isScalar(byte)) takeScalar(walk);
    else {
      if (byte === comma) leave(walk, walk.depth);
      else if ((byte & ~braceBit) === opening) walk.depth += 1;
      else if ((byte & ~braceBit) === closing) {
        walk.depth -= 1;
        leave(walk, walk.depth + 1);
      }
      walk.at += 1;
      walk.spent += 1;
    }
  }
  return Math.ceil(walk.quarters / perToken);
}

/** The value of a key at `depth` is over. */
function leave(walk: Walk, depth: number): void {
  if (walk.meaning !== undefined && depth <= walk.meaningDepth) walk.meaning = undefined;
}

function takeString(walk: Walk): void {
  const { body, at, isRequest } = walk;
  const stop = stringEnd(walk);
  const next = afterBlanks(body, stop + 1);
  walk.spent += next - stop;
  walk.at = next;
  if (walk.meaning === 'silent') return;
  if (body[next] !== colon) {
    walk.quarters += stringQuarters(walk, at + 1, stop);
    return;
  }
  if (isRequest) walk.quarters += textQuarters(walk, at + 1, stop);
  takeKey(walk, at + 1, stop);
}

/** Sets the kind of the value below a key. Named media are counted here; sent media where they stand. */
function takeKey(walk: Walk, from: number, to: number): void {
  const { body, isRequest } = walk;
  if (isRequest && walk.depth === 1) walk.mayHoldMedia = mediaHolders.get(body, from, to) !== undefined;
  const meaning = walk.mayHoldMedia ? (isRequest ? asked : answered).get(body, from, to) : undefined;
  const value = afterBlanks(body, walk.at + 1);
  walk.spent += value - walk.at;
  walk.at = value;
  // A text beside media, in the same object, is a text.
  if (walk.meaning === 'anything') walk.meaning = undefined;
  const isSchema = meaning === 'document' && body[value] !== quote;
  if (meaning === undefined || body[value] === letterN || isSchema) return;
  if (meaning === 'anything' && walk.meaning !== undefined) return;
  if (meaning !== 'anything' && meaning !== 'silent') walk.quarters += perToken * namedMediaTokens(meaning);
  walk.meaning = meaning;
  walk.meaningDepth = walk.depth;
}

/** The offset of the quote that ends the string which begins at the walk; the end of the body when it does not end. */
function stringEnd(walk: Walk): number {
  const { body } = walk;
  if (walk.at === walk.longStart) {
    const end = walk.longTexts[walk.nextLong + 1] as number;
    walk.nextLong += 2;
    walk.longStart = walk.longTexts[walk.nextLong];
    walk.spent += nearBytes;
    return end - 1;
  }
  for (let at = walk.at + 1; ; ) {
    const near = Math.min(at + nearBytes, body.length);
    walk.spent += near - at;
    while (at < near) {
      const byte = body[at];
      if (byte === quote) {
        walk.spent -= near - at;
        return at;
      }
      at += byte === backslash ? 2 : 1;
    }
    // After that many bytes, the rest of the body is weighed as one text.
    const found = at >= body.length || walk.spent > budgetBytes ? -1 : body.indexOf(quote, at);
    if (found === -1) return body.length;
    let slashes = 0;
    while (found - 1 - slashes >= at && body[found - 1 - slashes] === backslash) slashes += 1;
    walk.spent += nearBytes + slashes;
    if (slashes % 2 === 0) return found;
    at = found + 1;
  }
}

function stringQuarters(walk: Walk, from: number, to: number): number {
  const { body, meaning } = walk;
  const length = to - from;
  if (meaning === undefined || meaning === 'silent' || length < shortestMedia) return textQuarters(walk, from, to);
  const media = sentMedia(body.toString('latin1', from, from + shortestMedia), body.toString('latin1', to - 32, to));
  const kind = media?.kind ?? (meaning === 'anything' ? undefined : meaning);
  walk.spent += probes;
  if (media === undefined || kind === undefined || !isBase64(body, from + shortestMedia, to))
    return textQuarters(walk, from, to);
  const named = meaning === 'anything' ? namedMediaTokens(kind) : 0;
  return perToken * (named + sentMediaTokens(kind, length, media.data));
}

function textQuarters(walk: Walk, from: number, to: number): number {
  const { body } = walk;
  if (walk.isPlain) return to - from;
  if (to - from > nearBytes && isAscii(body.subarray(from, to))) return to - from;
  walk.spent += Math.min(to - from, sampleBytes);
  return weighSome(body, from, to);
}

/** A number or a word. Each is a token of a request, because lists of numbers may be tokens already; a longer one is no JSON, but a text. */
function takeScalar(walk: Walk): void {
  const { body, at, isRequest } = walk;
  let end = at + 1;
  const stop = Math.min(body.length, at + sampleBytes);
  while (end < stop && isScalar(body[end] as number)) end += 1;
  walk.at = end;
  walk.spent += end - at;
  if (walk.meaning === 'silent') return;
  const length = end - at;
  if (length > longestNumber) walk.quarters += weigh(body, at, end);
  else if (isRequest) walk.quarters += perToken;
}

function isScalar(byte: number): boolean {
  return !(isBlank(byte) || byte === quote || byte === comma || byte === colon || isBracket(byte));
}

function isBracket(byte: number): boolean {
  return (byte & ~braceBit) === opening || (byte & ~braceBit) === closing;
}

/** Past the blanks at `from`, as far as JSON has any in between. */
function afterBlanks(body: Buffer, from: number): number {
  let at = from;
  while (at < from + nearBytes && isBlank(body[at])) at += 1;
  return at;
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
