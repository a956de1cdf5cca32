// Where the events of an event stream begin and end. A line ends with LF, CR or CRLF; an event ends with an empty line (WHATWG HTML, 9.2.5).

const newline = 0x0a;
const carriageReturn = 0x0d;

export function isLineEnd(byte: number | undefined): boolean {
  return byte === newline || byte === carriageReturn;
}

/** From this length on, to search natively first is worth its calls. */
const longBytes = 1024;

function hasLineEnd(bytes: Buffer, from: number): boolean {
  return bytes.includes(newline, from) || bytes.includes(carriageReturn, from);
}

/**
 * Just past the last empty line of `bytes`; 0 when no event ends in it. `before` is the byte in front of them; undefined when nothing
 * may be in front of them.
 */
export function lastEventEnd(bytes: Buffer, before?: number): number {
  const { length } = bytes;
  // Nearly every chunk ends with an event.
  if (bytes[length - 1] === newline && bytes[length - 2] === newline) return length;
  if (length > longBytes && !hasLineEnd(bytes, 0)) return 0;
  for (let end = length; end > 0; ) {
    const last = bytes[end - 1];
    if (!isLineEnd(last)) {
      end -= 1;
      continue;
    }
    const start = last === newline && bytes[end - 2] === carriageReturn ? end - 2 : end - 1;
    // A newline behind the carriage return of the bytes before is no line of its own.
    const isHalf = start === 0 && last === newline && end === 1 && before === carriageReturn;
    if (!isHalf && isLineEnd(start === 0 ? before : bytes[start - 1])) return end;
    end = start;
  }
  return 0;
}

/** Just past the first empty line that begins at or behind `from`; 0 when there is none. `before` as above. */
export function firstEventEnd(bytes: Buffer, from: number, before?: number): number {
  const { length } = bytes;
  if (length - from > longBytes && !hasLineEnd(bytes, from)) return 0;
  let isStart = isLineEnd(from === 0 ? before : bytes[from - 1]);
  let at = from;
  if (from === 0 && before === carriageReturn && bytes[0] === newline) at = 1;
  while (at < length) {
    const byte = bytes[at];
    at += 1;
    if (!isLineEnd(byte)) {
      isStart = false;
      continue;
    }
    if (byte === carriageReturn && bytes[at] === newline) at += 1;
    if (isStart) return at;
    isStart = true;
  }
  return 0;
}

/** Whether an event with data ends in the first bytes of a stream; comments are none. */
export function hasEvent(bytes: Buffer): boolean {
  for (let start = 0; ; ) {
    const end = firstEventEnd(bytes, start);
    if (end === 0) return false;
    if (hasData(bytes, start, end)) return true;
    start = end;
  }
}

/** Whether the first frame of an AWS stream is complete: its first 4 bytes are its length. */
export function hasFrame(bytes: Buffer): boolean {
  return bytes.length >= 4 && bytes.length >= bytes.readUInt32BE(0);
}

/** Whether a line of an event begins with `data:`. */
function hasData(bytes: Buffer, start: number, end: number): boolean {
  for (let at = bytes.indexOf('data:', start); at !== -1 && at < end; at = bytes.indexOf('data:', at + 1)) {
    if (at === start || isLineEnd(bytes[at - 1])) return true;
  }
  return false;
}

/**
 * Passes whole events on, and in the place of each in which `find` finds something (its offset, from an offset on, or -1) what `edit`
 * makes of it, which is told whether it is the last. An event begins at `from`, and those before it pass. Time is linear in their length.
 * `events` belong to the caller no longer: where one event goes and nothing comes in its place, what is behind it moves there.
 */
export function editEvents(
  events: Buffer,
  find: (events: Buffer, from: number) => number,
  edit: (event: Buffer, isLast: boolean) => Buffer,
  from: number = 0,
): Buffer {
  const parts: Buffer[] = [];
  let passed = 0;
  let searched = from;
  for (let at = find(events, from); at !== -1; at = find(events, searched)) {
    let start = searched + lastEventEnd(events.subarray(searched, at));
    // An empty line of its own belongs to no event, so it stays.
    while (isLineEnd(events[start])) start += 1;
    searched = firstEventEnd(events, at) || events.length;
    const event = events.subarray(start, searched);
    const edited = edit(event, searched === events.length);
    if (edited === event) continue;
    parts.push(events.subarray(passed, start), edited);
    passed = searched;
  }
  if (parts.length === 2 && parts[1]?.length === 0) return cutOut(events, parts[0]?.length ?? 0, passed);
  return passed === 0 ? events : Buffer.concat([...parts, events.subarray(passed)]);
}

/** Moves what is behind `end` to `start`. The usage event of a stream has 14 bytes behind it, and may have 10 KB before it. */
function cutOut(bytes: Buffer, start: number, end: number): Buffer {
  return bytes.subarray(0, bytes.copyWithin(start, end).length - (end - start));
}

/** The lines of an event, without their ends. Time is linear in its length, whatever ends them. */
export function* linesOf(event: Buffer): Generator<Buffer, void, undefined> {
  let feed = -1;
  for (let start = 0; start < event.length; ) {
    if (feed < start) feed = event.indexOf(newline, start);
    if (feed === -1) feed = event.length;
    const line = event.subarray(start, feed);
    const end = line.indexOf(carriageReturn);
    yield end === -1 ? line : line.subarray(0, end);
    start = end === -1 || start + end + 1 === feed ? feed + 1 : start + end + 1;
  }
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
