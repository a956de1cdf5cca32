// The events of a stream with their bytes, so that an unchanged event goes on as it came.
import { dataOf, firstEventEnd, isLineEnd, lastEventEnd, linesOf } from '../bytes/events.ts';
import { HeldBytes } from '../bytes/held-bytes.ts';
import { type EditableObject, editable } from '../dialects/editing.ts';
import { parseObject } from '../dialects/json/json.ts';
import { parsedObject } from '../http/parsed-body.ts';
import { inSlices, type Slices } from '../pacing/slices.ts';
import { type Flow, settled } from './flow.ts';
import { shortBytes } from './guarded-values.ts';

/** One event of a stream. */
export interface StreamedEvent {
  /** All of its lines, with the empty ones behind. */
  readonly bytes: Buffer;
}

/** The content of an event. */
export interface ReadEvent {
  /** Undefined: it has none. */
  readonly name: string | undefined;
  /** Undefined: its data is no JSON object, or holds too many values. */
  readonly body: EditableObject | undefined;
  /** It is the last event of chat and of completions, which is no JSON. */
  readonly isDone: boolean;
}

const named = /^event: ?(.*?)\r?$/m;
const done = '[DONE]';
const nothing: ReadEvent = { name: undefined, body: undefined, isDone: false };

/** Waits only where the event is long. */
export function* readEvent(bytes: Buffer): Flow<ReadEvent> {
  if (!bytes.includes('data:')) return nothing;
  if (bytes.length > shortBytes) return yield* settled(inSlices(readLong(bytes)));
  const data = dataOf(bytes);
  const body = editable(parseObject(data));
  return { name: named.exec(bytes.toString('utf8'))?.[1], body, isDone: data.trim() === done };
}

/** The number of lines that are read in one step. */
const stepLines = 10_000;

function* readLong(bytes: Buffer): Slices<ReadEvent> {
  const data: Buffer[] = [];
  let name: string | undefined;
  let count = 0;
  for (const line of linesOf(bytes)) {
    count += 1;
    if (count % stepLines === 0) yield;
    const field = line.toString('latin1', 0, 6);
    if (field === 'event:') name ??= named.exec(line.toString('utf8'))?.[1];
    if (!field.startsWith('data:')) continue;
    if (data.length > 0) data.push(newline);
    data.push(line.subarray(field === 'data: ' ? 6 : 5));
  }
  yield;
  const [first = newline] = data;
  const whole = data.length === 1 ? first : Buffer.concat(data);
  const isDone = whole.length < 2 * done.length && whole.toString('utf8').trim() === done;
  return { name, body: isDone ? undefined : editable(yield* parsedObject(whole)), isDone };
}

const newline = Buffer.from('\n');

/** Cuts bytes into events, wherever chunks end. */
export class EventCutter {
  readonly #held = new HeldBytes();
  #lastByte: number | undefined;

  /** Bytes of an event that has not ended. */
  get heldBytes(): number {
    return this.#held.length;
  }

  push(chunk: Buffer): readonly StreamedEvent[] {
    if (chunk.length === 0) return [];
    const end = lastEventEnd(chunk, this.#lastByte);
    this.#lastByte = chunk[chunk.length - 1];
    // The chunk is memory that is used again.
    const own = Buffer.from(chunk);
    if (end === 0) {
      this.#held.add(own);
      return [];
    }
    this.#held.add(own.subarray(0, end));
    const whole = this.#held.take();
    if (end < own.length) this.#held.add(own.subarray(end));
    // No event ended before this chunk.
    return eventsIn(whole, whole.length - end);
  }

  /** The stream is over: what is left. */
  end(): readonly StreamedEvent[] {
    return this.#held.length === 0 ? [] : [{ bytes: this.#held.take() }];
  }
}

/** `from`: no event ends before it. Further empty lines belong to the event before them. */
function eventsIn(whole: Buffer, from: number): StreamedEvent[] {
  const events: StreamedEvent[] = [];
  let search = from;
  while (search > 0 && isLineEnd(whole[search - 1])) search -= 1;
  for (let start = 0; start < whole.length; ) {
    let end = firstEventEnd(whole, search) || whole.length;
    while (isLineEnd(whole[end])) end += 1;
    events.push({ bytes: whole.subarray(start, end) });
    start = end;
    search = end;
  }
  return events;
}

/** The bytes of an event with this body. */
export function writeEvent(name: string | undefined, json: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${name === undefined ? '' : `event: ${name}\n`}data: `), json, eventEnd]);
}

const eventEnd = Buffer.from('\n\n');
