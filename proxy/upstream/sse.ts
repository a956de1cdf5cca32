// Watches an event stream as its bytes pass: was it finished, and which event exists only because the gateway asked for usage.

/** An unfinished event longer than this passes unread. */
const maxHeldBytes = 256 * 1024;

const newline = 0x0a;
const carriageReturn = 0x0d;
const emptyArray = Buffer.from('[]');
const terminal = Buffer.from('[DONE]');
const empty: Buffer = Buffer.alloc(0);

/** Sees every chunk of a stream before the client does. */
export interface StreamTap {
  /** The bytes to pass on now, perhaps none. */
  push: (chunk: Buffer) => Buffer;
  /** What was still held when the stream ended. */
  rest: () => Buffer;
  /** The terminal event has passed. */
  finished: () => boolean;
}

/** A tap that changes nothing. */
export function watchStream(): StreamTap {
  let tail: Buffer = empty;
  return {
    push(chunk) {
      tail = lastBytes(tail, chunk);
      return chunk;
    },
    rest: () => empty,
    finished: () => tail.includes(terminal),
  };
}

/**
 * A tap that drops the event with empty `choices` and a `usage` object, and leaves every other byte alone.
 * Only the bytes of an event that has not ended yet are held back.
 */
export function dropUsageEvent(): StreamTap {
  const inner = watchStream();
  let held: Buffer = empty;
  return {
    push(chunk) {
      inner.push(chunk);
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      const end = lastEventEnd(bytes);
      if (end === 0 && bytes.length > maxHeldBytes) {
        held = empty;
        return bytes;
      }
      held = end === bytes.length ? empty : bytes.subarray(end);
      return withoutUsageEvents(end === bytes.length ? bytes : bytes.subarray(0, end));
    },
    rest: () => held,
    finished: inner.finished,
  };
}

/** Enough of the stream's end to hold a terminal event, across chunk borders. */
function lastBytes(before: Buffer, chunk: Buffer): Buffer {
  return chunk.length >= 32 ? chunk : Buffer.concat([before.subarray(-32), chunk]);
}

/** Just past the last blank line of `bytes`; 0 when no event ends in it. */
function lastEventEnd(bytes: Buffer): number {
  const { length } = bytes;
  // Nearly every chunk ends with an event.
  if (bytes[length - 1] === newline && bytes[length - 2] === newline) return length;
  for (let at = length; ; at -= 1) {
    at = bytes.lastIndexOf(newline, at - 1);
    if (at <= 0) return 0;
    const before = bytes[at - 1] === carriageReturn ? at - 2 : at - 1;
    if (bytes[before] === newline) return at + 1;
  }
}

/** Just past the first blank line from `from` on. The caller knows that there is one. */
function eventEnd(bytes: Buffer, from: number): number {
  for (let at = from; ; ) {
    const next = bytes.indexOf(newline, at) + 1;
    if (next === 0) return bytes.length;
    if (bytes[next] === newline) return next + 1;
    if (bytes[next] === carriageReturn && bytes[next + 1] === newline) return next + 2;
    at = next;
  }
}

function withoutUsageEvents(events: Buffer): Buffer {
  // Only the usage event has empty choices; one search through all events is the whole cost of nearly every chunk.
  if (!events.includes(emptyArray)) return events;
  const kept: Buffer[] = [];
  for (let start = 0; start < events.length; ) {
    const end = eventEnd(events, start);
    const event = events.subarray(start, end);
    if (!(event.includes(emptyArray) && isUsageEvent(event))) kept.push(event);
    start = end;
  }
  return Buffer.concat(kept);
}

function isUsageEvent(event: Buffer): boolean {
  try {
    const { choices, usage } = JSON.parse(dataOf(event)) as { choices?: unknown; usage?: unknown };
    return Array.isArray(choices) && choices.length === 0 && typeof usage === 'object' && usage !== null;
  } catch {
    return false;
  }
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
