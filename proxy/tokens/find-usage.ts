// Finds the usage object in an answer's bytes without parsing the answer.
import { skipSpace } from '../bytes/json-tokens.ts';
import { type Member, scanObject } from '../bytes/scan.ts';
import { spells } from '../bytes/spells.ts';
import { type Counts, countsOf } from './counts.ts';
import { readCounts } from './read-counts.ts';
import { type TokenUsage, tokenUsageFrom } from './token-usage.ts';

/** Inside a JSON string every quote is escaped, so these bytes are always a string of their own: a key, or a value. */
const usageKey = Buffer.from('"usage"');

const quote = 0x22;
const backslash = 0x5c;
const opening = 0x7b;
const closing = 0x7d;
const colon = 0x3a;
const newline = 0x0a;

/** Longest usage object that is read: no provider comes near, and an endless one must not cost more. Bytes. */
const longestObject = 16 * 1024;
/** Where most answers have their usage: so far from their end at most. Bytes. */
const longestEnding = 1024;
/** How many objects are read in vain: they may lie in each other, and each would be read up to its end again. */
const mostObjects = 16;

/** A usage object that makes sense: its counts, and what they come to. */
interface Found {
  readonly counts: Counts;
  readonly usage: TokenUsage;
}

/** The `usage` of a JSON answer; where several objects are named so, that of the top level. */
export function findUsage(body: Buffer): TokenUsage | undefined {
  return find(body)?.usage;
}

/** The raw counts of a usage object, for a provider that reports them in parts. */
export function findCounts(body: Buffer): Counts | undefined {
  return find(body)?.counts;
}

function find(body: Buffer): Found | undefined {
  const last = lastKey(body);
  if (last === -1) return undefined;
  const from = objectAfter(body, last);
  const isNear = isNearEnd(body, from);
  if (!isNear && isFirst(body, last)) return usageFrom(body, from);
  const found = isNear ? usageFrom(body, from) : undefined;
  return found ?? topLevelUsage(body) ?? findLast(body);
}

function isFirst(body: Buffer, at: number): boolean {
  return at === 0 || body.lastIndexOf(usageKey, at - 1) === -1;
}

/** Where the last key, or text, of this name begins. Near the end of most answers: to ask for a search takes longer than to find it there. */
function lastKey(body: Buffer): number {
  const stop = Math.max(0, body.length - longestEnding);
  for (let at = body.length - usageKey.length; at >= stop; at -= 1) {
    if (body[at] === quote && body[at + 1] === usageKey[1] && spells(body, at + 1, 'usage"')) return at;
  }
  return body.lastIndexOf(usageKey);
}

/** Whether the object at `from` is a member of the top level, with little behind it: then the body ends where what it lies in is closed. */
function isNearEnd(body: Buffer, from: number | undefined): boolean {
  if (from === undefined || body.length - from > longestEnding) return false;
  const end = objectEnd(body, from, 1);
  return end !== undefined && skipSpace(body, end) === body.length;
}

/**
 * The last usage object of a text that is not one JSON value: events of a stream, or a part of an answer. Where the event it lies
 * in has several, that of the event's top level.
 */
export function findLastUsage(text: Buffer): TokenUsage | undefined {
  return findLast(text)?.usage;
}

function findLast(text: Buffer): Found | undefined {
  let objects = 0;
  for (let at = text.lastIndexOf(usageKey); at !== -1 && objects < mostObjects; ) {
    const from = objectAfter(text, at);
    const found = usageFrom(text, from);
    if (found !== undefined) return usageOfEvent(text, at) ?? found;
    if (from !== undefined) objects += 1;
    // A negative offset would search from the end again.
    at = at === 0 ? -1 : text.lastIndexOf(usageKey, at - 1);
  }
  return undefined;
}

/** The top-level usage of the event, one line of JSON, in which the key at `at` lies; only when it is not the first key there. */
function usageOfEvent(text: Buffer, at: number): Found | undefined {
  const start = text.lastIndexOf(newline, at) + 1;
  if (text.indexOf(usageKey, start) === at) return undefined;
  const end = text.indexOf(newline, at);
  return topLevelUsage(text.subarray(text.indexOf(opening, start), end === -1 ? text.length : end));
}

function topLevelUsage(body: Buffer): Found | undefined {
  let members: Member[];
  try {
    members = scanObject(body);
  } catch {
    return undefined;
  }
  const member = members.findLast(({ keyStart, keyEnd }) => body.toString('latin1', keyStart, keyEnd) === 'usage');
  return member && usageFrom(body, objectAfter(body, member.keyStart - 1));
}

/** Where the object begins that is the value of the key at `at`; undefined for another value, and for a string that is no key. */
function objectAfter(body: Buffer, at: number): number | undefined {
  // Else the word only ends a longer key.
  if (body[at] !== quote || body[at - 1] === backslash) return undefined;
  const after = skipSpace(body, at + usageKey.length);
  if (body[after] !== colon) return undefined;
  const from = skipSpace(body, after + 1);
  return body[from] === opening ? from : undefined;
}

function usageFrom(body: Buffer, from: number | undefined): Found | undefined {
  if (from === undefined) return undefined;
  const counts = readCounts(body, from, Math.min(body.length, from + longestObject));
  if (counts !== undefined) return foundOf(counts);
  const end = objectEnd(body, from);
  if (end === undefined) return undefined;
  try {
    // Keys of ASCII and numbers are all that is read, so other letters may turn into what they like.
    return foundOf(countsOf(JSON.parse(body.toString('latin1', from, end)) as Record<string, unknown>));
  } catch {
    return undefined;
  }
}

function foundOf(counts: Counts): Found | undefined {
  const usage = tokenUsageFrom(counts);
  return usage && { counts, usage };
}

/** Just past the object that opens at `from`, or that one which it lies in at this depth; undefined when it does not close. */
function objectEnd(body: Buffer, from: number, outer = 0): number | undefined {
  const stop = Math.min(body.length, from + longestObject);
  let depth = outer;
  let isText = false;
  for (let at = from; at < stop; at += 1) {
    const byte = body[at];
    if (byte === quote) isText = !isText;
    else if (isText) {
      if (byte === backslash) at += 1;
    } else if (byte === opening) depth += 1;
    else if (byte === closing) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}
