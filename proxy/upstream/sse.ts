// Watches an event stream as its bytes pass: was it finished, what did it cost, and which event exists only because the gateway asked for usage.
import { createEventCounter } from '../usage/event-counter.ts';
import { findUsage } from '../usage/find-usage.ts';
import type { TokenUsage } from '../usage/token-usage.ts';

/** An unfinished event longer than this passes unread. */
const maxHeldBytes = 256 * 1024;

const newline = 0x0a;
const carriageReturn = 0x0d;
const emptyArray = Buffer.from('[]');
const terminal = /^data: ?\[DONE\]\r?$/m;
const dataField = Buffer.from('data:');
/** Without its first quote, which is too frequent to search for. */
const usageKey = Buffer.from('usage"');
const nullEnd = Buffer.from(':null}\n\n');
/** So ends the key of every count (`total_tokens`); within a text the quote would be escaped. A few rare letters are found fastest. */
const countKey = Buffer.from('kens"');
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
  /** The last usage that was reported. Known, like the two below, only to a tap that reads usage. */
  usage: () => TokenUsage | undefined;
  /** Events with data that have passed, but for the terminal one. */
  events: () => number;
  /** How much of the stream came. */
  bytes: () => number;
}

export interface TapOptions {
  readonly dropsUsage: boolean;
  readonly readsUsage: boolean;
  readonly watchesEnd: boolean;
}

/**
 * A tap that leaves every byte alone, but for the event with empty `choices` and a `usage` object when `dropsUsage` is set.
 * Only an event that has not ended yet is held back, so that a stream that breaks off breaks between events.
 */
export function tapStream({ dropsUsage, readsUsage, watchesEnd }: TapOptions): StreamTap {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let inside = false;
  let done = false;
  let tail = nothing;
  let usage: TokenUsage | undefined;
  let byteCount = 0;
  const counter = createEventCounter();

  const release = (end: number, chunk: Buffer): Buffer => {
    const part = end === chunk.length ? chunk : chunk.subarray(0, end);
    const events = held.length === 0 ? part : Buffer.concat([...held, part]);
    held = end === chunk.length ? [] : [chunk.subarray(end)];
    heldBytes = chunk.length - end;
    return events;
  };
  return {
    push(chunk) {
      byteCount += chunk.length;
      const end = lastEventEnd(chunk) || seamEnd(tail, chunk);
      tail = lastBytes(tail, chunk);
      if (end > 0) {
        inside = false;
        const events = release(end, chunk);
        if (readsUsage) counter.push(events);
        if (watchesEnd) done ||= terminal.test(events.toString('latin1'));
        if (!(readsUsage || dropsUsage) || !mayReport(events)) return events;
        if (readsUsage) usage = lastUsage(events) ?? usage;
        return dropsUsage ? withoutUsageEvents(events) : events;
      }
      if (inside || heldBytes + chunk.length > maxHeldBytes) {
        inside = true;
        const piece = release(chunk.length, chunk);
        if (readsUsage) counter.push(piece);
        return piece;
      }
      held.push(chunk);
      heldBytes += chunk.length;
      return nothing;
    },
    rest: () => Buffer.concat(held),
    finished: () => done || terminal.test(Buffer.concat(held).toString('latin1')),
    insideEvent: () => inside,
    usage: () => (readsUsage ? (lastUsage(Buffer.concat(held)) ?? usage) : undefined),
    events: () => counter.count(),
    bytes: () => byteCount,
  };
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
    const found = findUsage(dataBytesOf(events.subarray(start, eventEnd(events, at))));
    if (found !== undefined) return found;
    end = start;
  }
  return undefined;
}

/** The last two bytes or more: a blank line may begin in one chunk and end in the next. */
function lastBytes(before: Buffer, chunk: Buffer): Buffer {
  return chunk.length > 1 ? chunk : Buffer.concat([before.subarray(-1), chunk]);
}

/** Just past a blank line that began in the bytes before and ends in `chunk`; 0 when there is none. */
function seamEnd(before: Buffer, chunk: Buffer): number {
  const last = before[before.length - 1];
  if (last === newline) {
    if (chunk[0] === newline) return 1;
    return chunk[0] === carriageReturn && chunk[1] === newline ? 2 : 0;
  }
  return last === carriageReturn && before[before.length - 2] === newline && chunk[0] === newline ? 1 : 0;
}

/** Just past the last blank line of `bytes`; 0 when no event ends in it. */
function lastEventEnd(bytes: Buffer): number {
  const { length } = bytes;
  // Nearly every chunk ends with an event.
  if (bytes[length - 1] === newline && bytes[length - 2] === newline) return length;
  // A blank line ends at index 1 at the earliest; a negative offset would search from the end again.
  for (let from = length - 1; from >= 1; ) {
    const at = bytes.lastIndexOf(newline, from);
    if (at < 1) return 0;
    const before = bytes[at - 1] === carriageReturn ? at - 2 : at - 1;
    if (bytes[before] === newline) return at + 1;
    from = at - 1;
  }
  return 0;
}

/** Just past the first blank line from `from` on; the end when there is none. */
function eventEnd(bytes: Buffer, from: number): number {
  for (let at = from; ; ) {
    const next = bytes.indexOf(newline, at) + 1;
    if (next === 0) return bytes.length;
    if (bytes[next] === newline) return next + 1;
    if (bytes[next] === carriageReturn && bytes[next + 1] === newline) return next + 2;
    at = next;
  }
}

/** `events` are whole ones. Only the usage event has empty choices, so one search through them is the whole cost of nearly every chunk. */
function withoutUsageEvents(events: Buffer): Buffer {
  const kept: Buffer[] = [];
  let from = 0;
  for (let at = events.indexOf(emptyArray); at !== -1; ) {
    let start = lastEventEnd(events.subarray(0, at));
    // A blank line of its own belongs to nobody, so it stays.
    while (events[start] === newline || events[start] === carriageReturn) start += 1;
    const end = eventEnd(events, at);
    if (isUsageEvent(events.subarray(start, end))) {
      kept.push(events.subarray(from, start));
      from = end;
    }
    at = events.indexOf(emptyArray, end);
  }
  return from === 0 ? events : Buffer.concat([...kept, events.subarray(from)]);
}

function isUsageEvent(event: Buffer): boolean {
  try {
    const { choices, usage } = JSON.parse(dataOf(event)) as { choices?: unknown; usage?: unknown };
    return Array.isArray(choices) && choices.length === 0 && typeof usage === 'object' && usage !== null;
  } catch {
    return false;
  }
}

/** The same as bytes, without a copy where the event is one such line. */
function dataBytesOf(event: Buffer): Buffer {
  const end = event.indexOf(newline);
  const isOneLine = event.indexOf(dataField) === 0 && (event[end + 1] === newline || event[end + 1] === carriageReturn);
  return isOneLine ? event.subarray(dataField.length, end) : Buffer.from(dataOf(event));
}

/** The joined `data:` lines of one event. */
export function dataOf(event: Buffer): string {
  return event
    .toString('utf8')
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(line.startsWith('data: ') ? 6 : 5))
    .join('\n');
}
