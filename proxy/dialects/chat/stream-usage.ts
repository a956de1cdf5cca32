// Finds what the events of a stream say of usage, and the event that says nothing else. Nearly every event says null, so that is seen first.
import { dataOf, firstEventEnd, isLineEnd, lastEventEnd } from '../../bytes/events.ts';
import { skipSpace } from '../../bytes/json-tokens.ts';
import { scanObject } from '../../bytes/scan.ts';
import { spells } from '../../bytes/spells.ts';
import type { EventCounter } from '../../tokens/event-counter.ts';
import { findUsage } from '../../tokens/find-usage.ts';
import type { TokenUsage } from '../../tokens/token-usage.ts';

const newline = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
const backslash = 0x5c;
const letterN = 0x6e;
const brace = 0x7b;
const bracket = 0x5b;
const closingBracket = 0x5d;
const dataField = Buffer.from('data:');
/** Without its first quote, which is too frequent to search for. */
const usageKey = Buffer.from('usage"');
const nullEnd = Buffer.from(':null}\n\n');
/**
 * The end of the key of every count (`total_tokens`); within a text the quote would be escaped. Its rare letters make
 * the search fast.
 */
const countKey = Buffer.from('kens"');

/**
 * Counts the events at the beginning that are one line of data and report a usage of null, nearly all of a stream, and gives where the first
 * other one begins. `events` are whole, and their lines end with LF. So thirty events of one read are searched once each, and not again
 * for what the last ones say.
 */
export function countNullEvents(events: Buffer, counter: EventCounter): number {
  let at = 0;
  while (events[at] === 0x64 && events[at + 4] === colon) {
    const end = events.indexOf(newline, at) + 2;
    if (end < 2 || events[end - 1] !== newline || !endsWithNull(events, end)) break;
    counter.count += 1;
    at = end;
  }
  return at;
}

/** The end of nearly every event. Within a text the quote behind the name would be escaped. */
const nullUsage = '"usage":null}\n\n';
/** The end of an event without a finish reason and with a usage of null, as OpenAI sends it. */
const noReason = `_reason":null}],${nullUsage}`;

/** Whether the bytes up to `length` end with a usage of null and an empty line. */
export function endsWithNull(bytes: Buffer, length: number = bytes.length): boolean {
  const at = length - nullUsage.length;
  return spells(bytes, at, nullUsage) && bytes[at - 1] !== backslash;
}

/** Whether an event that ends with a usage of null has no finish reason. False for an event in another spelling. */
export function hasNoReason(bytes: Buffer): boolean {
  return spells(bytes, bytes.length - noReason.length, noReason);
}

/**
 * Whether the events may report usage. False for nearly every chunk: it names no usage, or ends with one that is null.
 */
export function mayReport(events: Buffer): boolean {
  const at = events.indexOf(usageKey);
  if (at === -1) return false;
  const after = at + usageKey.length;
  for (let index = 0; index < nullEnd.length; index += 1) if (events[after + index] !== nullEnd[index]) return true;
  return after + nullEnd.length < events.length;
}

/** The index of the next `"usage"` from `from` on that is not null; -1 when there is none. */
export function reportFrom(events: Buffer, from: number): number {
  let at = events.indexOf(usageKey, from);
  while (at !== -1 && startsWithNull(events, at + usageKey.length)) at = events.indexOf(usageKey, at + usageKey.length);
  return at;
}

function startsWithNull(bytes: Buffer, at: number): boolean {
  return bytes[at] === colon && bytes[at + 1] === 0x6e && bytes[at + 2] === 0x75;
}

/** The usage of the last of these whole events that reports one; undefined when none does. */
export function lastUsage(events: Buffer): TokenUsage | undefined {
  if (!events.includes(countKey)) return undefined;
  for (let end = events.length; end > 0; ) {
    const at = events.lastIndexOf(countKey, end - 1);
    if (at === -1) return undefined;
    const start = lastEventEnd(events.subarray(0, at));
    const found = findUsage(dataBytesOf(events.subarray(start, firstEventEnd(events, at) || events.length)));
    if (found !== undefined) return found;
    end = start;
  }
  return undefined;
}

/** Whether an event has usage and nothing else that a client needs: no choice, and no error. */
export function isUsageEvent(event: Buffer): boolean {
  const data = dataBytesOf(event);
  let hasUsage = false;
  try {
    for (const { keyStart, keyEnd, valueStart } of scanObject(data)) {
      const length = keyEnd - keyStart;
      const first = data[valueStart];
      if (length === 7 && spells(data, keyStart, 'choices')) {
        if (first !== letterN && !(first === bracket && data[skipSpace(data, valueStart + 1)] === closingBracket))
          return false;
      } else if (length === 5 && spells(data, keyStart, 'usage')) hasUsage = first === brace;
      else if (length === 5 && spells(data, keyStart, 'error') && first !== letterN) return false;
    }
  } catch {
    return false;
  }
  return hasUsage;
}

/** The joined `data:` lines of one event as bytes, without a copy where the event is one such line. */
function dataBytesOf(event: Buffer): Buffer {
  const end = event.indexOf(newline);
  const isOneLine = event.indexOf(dataField) === 0 && isLineEnd(event[end + 1]) && !event.includes(carriageReturn);
  return isOneLine ? event.subarray(dataField.length, end) : Buffer.from(dataOf(event));
}
