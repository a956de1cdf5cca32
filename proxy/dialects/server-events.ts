// Cuts the bytes of an event stream into events for translation (WHATWG HTML, 9.2), wherever its chunks end.
import { lastEventEnd } from '../bytes/events.ts';
import { HeldBytes } from '../bytes/held-bytes.ts';
import { type EventSplitter, InvalidAnswer, type RawEvent } from './translation.ts';

/** Longest event that is translated, and most that is held of an unfinished one: it is read and written in one step. Bytes. */
export const maxEventBytes = 4 * 1024 * 1024;

/** Most lines of data of one event: JSON comes in one, or is printed in some thousands. */
const mostLines = 100_000;

const carriageReturn = 0x0d;
const newline = 0x0a;
const none: readonly RawEvent[] = [];

/** Comments and events without data are left out; so are whole events with nothing that is looked for. */
export class ServerEventSplitter implements EventSplitter {
  readonly #marks: readonly string[];
  readonly #held = new HeldBytes();
  #lastByte: number | undefined;

  /** `marks`: bytes in which none of these stands are not made text of; none: all are. */
  constructor(marks: readonly string[] = []) {
    this.#marks = marks;
  }

  push(chunk: Buffer): readonly RawEvent[] {
    if (chunk.length === 0) return none;
    const before = this.#lastByte;
    this.#lastByte = chunk[chunk.length - 1];
    const held = this.#held;
    // The empty line that ends an event may be split: CR here, and LF in the next chunk.
    const isOld = held.length === 0 && before === carriageReturn && chunk[0] === newline;
    const end = lastEventEnd(chunk, before) || (isOld ? 1 : 0);
    if (end === 0) {
      held.add(held.length === 0 ? Buffer.from(chunk) : chunk);
      if (held.length > maxEventBytes) throw new InvalidAnswer(`an event is longer than ${maxEventBytes} bytes`);
      return none;
    }
    let whole = end === chunk.length ? chunk : chunk.subarray(0, end);
    if (held.length > 0) {
      held.add(whole);
      whole = held.take();
    }
    if (end < chunk.length) held.add(Buffer.from(chunk.subarray(end)));
    return this.#eventsIn(whole);
  }

  end(): readonly RawEvent[] {
    return this.#held.length === 0 ? none : this.#eventsIn(this.#held.take());
  }

  #eventsIn(whole: Buffer): readonly RawEvent[] {
    const isWanted = this.#marks.length === 0 || this.#marks.some((mark) => whole.includes(mark));
    return isWanted ? eventsOf(whole.toString('utf8')) : none;
  }
}

/** The events of a text in which every event is whole. */
function eventsOf(text: string): readonly RawEvent[] {
  const events: RawEvent[] = [];
  let event: string | undefined;
  let data: string | undefined;
  let lines = 0;
  // Each is searched for once, and no list of lines is made: an event may be millions of them.
  let feed = text.indexOf('\n');
  let carriage = text.indexOf('\r');
  for (let start = 0, next = 0; start < text.length; start = next) {
    if (feed !== -1 && feed < start) feed = text.indexOf('\n', start);
    if (carriage !== -1 && carriage < start) carriage = text.indexOf('\r', start);
    const end = lineEnd(feed, carriage, text.length);
    next = end === carriage && feed === end + 1 ? end + 2 : end + 1;
    if (end === start) {
      if (data !== undefined) events.push({ event, data });
      event = undefined;
      data = undefined;
      lines = 0;
    } else if (text.startsWith('data:', start)) {
      lines += 1;
      if (lines > mostLines) throw new InvalidAnswer(`an event has more than ${mostLines} lines`);
      const value = fieldValue(text, start + 5, end);
      data = data === undefined ? value : `${data}\n${value}`;
    } else if (text.startsWith('event:', start)) event = fieldValue(text, start + 6, end);
  }
  if (data !== undefined) events.push({ event, data });
  return events;
}

function lineEnd(feed: number, carriage: number, length: number): number {
  if (feed === -1) return carriage === -1 ? length : carriage;
  return carriage === -1 ? feed : Math.min(feed, carriage);
}

function fieldValue(text: string, from: number, end: number): string {
  return text.slice(text[from] === ' ' ? from + 1 : from, end);
}
