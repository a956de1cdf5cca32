// Watches an event stream as its bytes pass: was it finished, and which event exists only because the gateway asked for usage.

/** An unfinished event longer than this passes unread. */
const maxHeldBytes = 256 * 1024;

const newline = 0x0a;
const carriageReturn = 0x0d;
const emptyArray = Buffer.from('[]');
const terminal = /^data: ?\[DONE\]\r?$/m;
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
}

/**
 * A tap that leaves every byte alone, but for the event with empty `choices` and a `usage` object when `dropsUsage` is set.
 * Only an event that has not ended yet is held back, so that a stream that breaks off breaks between events.
 */
export function tapStream({ dropsUsage, watchesEnd }: { dropsUsage: boolean; watchesEnd: boolean }): StreamTap {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let inside = false;
  let done = false;
  let tail = nothing;

  const release = (end: number, chunk: Buffer): Buffer => {
    const part = end === chunk.length ? chunk : chunk.subarray(0, end);
    const events = held.length === 0 ? part : Buffer.concat([...held, part]);
    held = end === chunk.length ? [] : [chunk.subarray(end)];
    heldBytes = chunk.length - end;
    return events;
  };
  return {
    push(chunk) {
      const end = lastEventEnd(chunk) || seamEnd(tail, chunk);
      tail = lastBytes(tail, chunk);
      if (end > 0) {
        inside = false;
        const events = release(end, chunk);
        if (watchesEnd) done ||= terminal.test(events.toString('latin1'));
        return dropsUsage ? withoutUsageEvents(events) : events;
      }
      if (inside || heldBytes + chunk.length > maxHeldBytes) {
        inside = true;
        return release(chunk.length, chunk);
      }
      held.push(chunk);
      heldBytes += chunk.length;
      return nothing;
    },
    rest: () => Buffer.concat(held),
    finished: () => done || terminal.test(Buffer.concat(held).toString('latin1')),
    insideEvent: () => inside,
  };
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
