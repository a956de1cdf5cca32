// Watches an event stream as its bytes pass: was it finished, what did it cost, which event exists only because the gateway asked for usage,
// and does one tell a secret.
import { isAscii } from 'node:buffer';
import { createEventCounter } from '../usage/event-counter.ts';
import type { TokenUsage } from '../usage/token-usage.ts';
import { editEvents, firstEventEnd, lastEventEnd } from './events.ts';
import { type HeldBytes, holdBytes } from './held-bytes.ts';
import { errorMark, passingSecrets, withoutSecrets } from './stream-secrets.ts';
import { endsWithNull, isUsageEvent, lastUsage, mayReport, reportFrom } from './stream-usage.ts';

/** An unfinished event longer than this passes unread. */
const maxHeldBytes = 256 * 1024;
/** Shorter events are a token each, whatever letters they have. Bytes. */
const shortEvent = 320;

const newline = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const colon = 0x3a;
const terminal = /^data: ?\[DONE\]\r?$/m;
/** What a chunk has that needs a closer look: an error, a usage, a CR; and the same where a usage that is null ends it. */
const odd = /rror|usage"|\r/;
const oddButNull = /rror|\r/;
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
    // One search of a string costs half of what a search of bytes for each word does.
    const text = whole.toString('latin1');
    if (watchesEnd) done ||= terminal.test(text);
    if (whole[0] !== colon) lastEvents = whole;
    const isNull = endsWithNull(whole);
    const isPlain = !(isNull ? oddButNull : odd).test(text);
    const events = isPlain ? whole : withoutErrors(whole);
    if (!readsUsage && !dropsUsage) return events;
    const before = counter.count();
    if (readsUsage) counter.push(whole, isPlain ? false : undefined);
    const count = counter.count() - before;
    if (whole.length > shortEvent * count && !isAscii(whole)) wideBytes += whole.length;
    if ((isPlain && !isNull) || (isNull && count === 1) || !mayReport(whole)) return events;
    if (readsUsage) usage = lastUsage(whole) ?? usage;
    return dropsUsage ? withoutUsage(events) : events;
  };
  const withoutErrors = (events: Buffer): Buffer =>
    editEvents(events, errorFrom, (event) => withoutSecrets(event, secrets));
  const withoutUsage = (events: Buffer): Buffer =>
    editEvents(events, reportFrom, (event, isLast) => {
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

/** Whether the last `finish_reason` of these events is a reason. */
function endsAnswer(events: Buffer): boolean {
  const at = events.lastIndexOf(reasonKey);
  if (at === -1) return false;
  let value = at + reasonKey.length;
  while (events[value] === colon || events[value] === 0x20) value += 1;
  return events[value] === quote && !terminal.test(events.toString('latin1', value));
}

function errorFrom(events: Buffer, from: number): number {
  return events.indexOf(errorMark, from);
}
