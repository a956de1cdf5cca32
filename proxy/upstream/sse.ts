// Watches an event stream as its bytes pass: was it finished, what did it cost, which event exists only because the gateway asked for usage,
// and does one tell a secret.
import { isAscii } from 'node:buffer';
import { createEventCounter } from '../usage/event-counter.ts';
import { findUsage } from '../usage/find-usage.ts';
import type { TokenUsage } from '../usage/token-usage.ts';
import { editEvents, firstEventEnd, isLineEnd, lastEventEnd } from './events.ts';
import { type HeldBytes, holdBytes } from './held-bytes.ts';
import { errorMark, passingSecrets, withoutSecrets } from './stream-secrets.ts';

/** An unfinished event longer than this passes unread. */
const maxHeldBytes = 256 * 1024;
/** Shorter events are a token each, whatever letters they have. Bytes. */
const shortEvent = 320;

const newline = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const colon = 0x3a;
const backslash = 0x5c;
const terminal = /^data: ?\[DONE\]\r?$/m;
const dataField = Buffer.from('data:');
/** Without its first quote, which is too frequent to search for. */
const usageKey = Buffer.from('usage"');
const nullEnd = Buffer.from(':null}\n\n');
/** So ends the key of every count (`total_tokens`); within a text the quote would be escaped. A few rare letters are found fastest. */
const countKey = Buffer.from('kens"');
const reasonKey = Buffer.from('"finish_reason"');
const nothing: Buffer = Buffer.alloc(0);

/** Sees every chunk of a stream before the client does, and passes whole events on. */
export interface StreamTap {
  /** The bytes to pass on now, perhaps none. */
  push: (chunk: Buffer) => Buffer;
  /** The bytes of an event that did not end: they belong to the client only when the stream did end. */
  rest: () => Buffer;
  /** The terminal event has come. Known only to a tap that watches the end. */
  finished: () => boolean;
  /** Bytes of an unfinished event were passed on, because it was too long to hold. */
  insideEvent: () => boolean;
  /** The last usage that was reported. Known, like what is below, only to a tap that reads usage. */
  usage: () => TokenUsage | undefined;
  /** What was said last ended the answer (its `finish_reason`), and usage was not reported: it may come next. */
  awaitsUsage: () => boolean;
  /** Events with data that have passed, but for the terminal one. */
  events: () => number;
  /** How much of the stream came. */
  bytes: () => number;
  /** How much of it in chunks that are not all ASCII, where that may matter to an estimate. */
  wideBytes: () => number;
}

export interface TapOptions {
  /** Usage was asked for by the gateway alone, so the event that reports it is none of the client's. */
  readonly dropsUsage: boolean;
  readonly readsUsage: boolean;
  readonly watchesEnd: boolean;
  /** What no error of the stream may tell, longest first. */
  readonly secrets: readonly string[];
}

/**
 * A tap that leaves every byte alone, but for the event that reports usage and nothing else when `dropsUsage` is set, and for secrets:
 * those in errors, and known ones in events too long to be read. Only an event that has not ended yet is held back, so that a stream
 * that breaks off breaks between events.
 */
export function tapStream({ dropsUsage, readsUsage, watchesEnd, secrets }: TapOptions): StreamTap {
  const held: HeldBytes = holdBytes();
  const counter = createEventCounter();
  const passing = passingSecrets(secrets);
  let inside = false;
  let done = false;
  let lastByte: number | undefined;
  let lastEvents = nothing;
  /** The event before was dropped, and the newline that completes its last line may still come. */
  let dropsNewline = false;
  let usage: TokenUsage | undefined;
  let byteCount = 0;
  let wideBytes = 0;

  /** What may pass of these whole events. */
  const pass = (whole: Buffer): Buffer => {
    if (watchesEnd) done ||= terminal.test(whole.toString('latin1'));
    if (whole[0] !== colon) lastEvents = whole;
    const events = whole.includes(errorMark) ? withoutErrors(whole) : whole;
    if (!readsUsage && !dropsUsage) return events;
    const before = counter.count();
    if (readsUsage) counter.push(whole);
    const count = counter.count() - before;
    if (whole.length > shortEvent * count && !isAscii(whole)) wideBytes += whole.length;
    if ((count === 1 && endsWithNull(whole)) || !mayReport(whole)) return events;
    if (readsUsage) usage = lastUsage(whole) ?? usage;
    return dropsUsage ? withoutUsage(events) : events;
  };
  const withoutErrors = (events: Buffer): Buffer =>
    editEvents(events, errorMark, (event) => withoutSecrets(event, secrets));
  const withoutUsage = (events: Buffer): Buffer =>
    editEvents(events, usageKey, (event, isLast) => {
      if (!isUsageEvent(event)) return event;
      dropsNewline = isLast && held.length === 0 && event[event.length - 1] === carriageReturn;
      return nothing;
    });

  /** The next piece of an event too long to be held. */
  const passPiece = (piece: Buffer): Buffer => {
    if (readsUsage) counter.push(piece);
    if (!isAscii(piece)) wideBytes += piece.length;
    return passing.push(piece);
  };

  const take = (chunk: Buffer): Buffer => {
    const before = lastByte;
    lastByte = chunk[chunk.length - 1];
    if (inside) {
      const end = firstEventEnd(chunk, 0, before);
      const piece = passPiece(end === 0 ? chunk : chunk.subarray(0, end));
      if (end === 0) return piece;
      inside = false;
      const last = Buffer.concat([piece, passing.flush()]);
      if (end === chunk.length) return last;
      lastByte = chunk[end - 1];
      return Buffer.concat([last, take(chunk.subarray(end))]);
    }
    const isOld = held.length === 0 && before === carriageReturn && chunk[0] === newline;
    const end = lastEventEnd(chunk, before) || (isOld ? 1 : 0);
    if (end === chunk.length && held.length === 0) return pass(chunk);
    if (end > 0) {
      held.add(chunk.subarray(0, end));
      const events = held.take();
      if (end < chunk.length) held.add(chunk.subarray(end));
      return pass(events);
    }
    held.add(chunk);
    if (held.length <= maxHeldBytes) return nothing;
    inside = true;
    return passPiece(held.take());
  };

  const restOf = (): Buffer => {
    const rest = inside ? passing.flush() : held.peek();
    return rest.includes(errorMark) ? withoutSecrets(rest, secrets) : rest;
  };
  return {
    push(chunk) {
      byteCount += chunk.length;
      if (!dropsNewline) return chunk.length === 0 ? nothing : take(chunk);
      dropsNewline = false;
      const rest = chunk[0] === newline ? chunk.subarray(1) : chunk;
      return rest.length === 0 ? nothing : take(rest);
    },
    rest: restOf,
    finished: () => done || terminal.test(held.peek().toString('latin1')),
    insideEvent: () => inside,
    usage: () => (readsUsage ? (lastUsage(held.peek()) ?? usage) : undefined),
    awaitsUsage: () => readsUsage && usage === undefined && held.length === 0 && endsAnswer(lastEvents),
    events: () => counter.count(),
    bytes: () => byteCount,
    wideBytes: () => wideBytes,
  };
}

/** Whether the bytes end with `"usage":null}` and an empty line. A few letters tell, so few are looked at. */
function endsWithNull(bytes: Buffer): boolean {
  const { length } = bytes;
  return (
    bytes[length - 3] === 0x7d &&
    bytes[length - 4] === 0x6c &&
    bytes[length - 8] === colon &&
    bytes[length - 9] === quote &&
    bytes[length - 10] === 0x65 &&
    bytes[length - 11] === 0x67 &&
    bytes[length - 15] === quote &&
    bytes[length - 16] !== backslash
  );
}

/** False for nearly every chunk: nothing in it is named usage, or one that is null ends it. */
function mayReport(events: Buffer): boolean {
  const at = events.indexOf(usageKey);
  if (at === -1) return false;
  const after = at + usageKey.length;
  for (let index = 0; index < nullEnd.length; index += 1) if (events[after + index] !== nullEnd[index]) return true;
  return after + nullEnd.length < events.length;
}

/** What the last of these whole events that reports usage says. */
function lastUsage(events: Buffer): TokenUsage | undefined {
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

/** Whether the last `finish_reason` of these events is a reason. */
function endsAnswer(events: Buffer): boolean {
  const at = events.lastIndexOf(reasonKey);
  if (at === -1) return false;
  let value = at + reasonKey.length;
  while (events[value] === colon || events[value] === 0x20) value += 1;
  return events[value] === quote && !terminal.test(events.toString('latin1', value));
}

/** Whether an event tells of usage and of nothing else that a client would miss: no choice, and no error. */
function isUsageEvent(event: Buffer): boolean {
  try {
    const { choices, usage, error } = JSON.parse(dataOf(event)) as Record<string, unknown>;
    const isEmpty = choices === undefined || choices === null || (Array.isArray(choices) && choices.length === 0);
    return isEmpty && typeof usage === 'object' && usage !== null && (error === undefined || error === null);
  } catch {
    return false;
  }
}

/** The same as bytes, without a copy where the event is one such line. */
function dataBytesOf(event: Buffer): Buffer {
  const end = event.indexOf(newline);
  const isOneLine = event.indexOf(dataField) === 0 && isLineEnd(event[end + 1]) && !event.includes(carriageReturn);
  return isOneLine ? event.subarray(dataField.length, end) : Buffer.from(dataOf(event));
}

/** The joined `data:` lines of one event. */
export function dataOf(event: Buffer): string {
  return event
    .toString('utf8')
    .split(/\r\n|\r|\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(line.startsWith('data: ') ? 6 : 5))
    .join('\n');
}
