// The tap of formats whose events say what they are: by the line `event:`, and again by the `type` of their data.
import { dataOf, firstEventEnd, isLineEnd } from '../bytes/events.ts';
import { isFailure } from './chat/broken-answer.ts';
import { EventTap, nothing } from './event-tap.ts';
import { parseObject } from './json/json.ts';
import { mayNameError } from './stream-secrets.ts';

const newline = 0x0a;
const carriageReturn = 0x0d;
/** The start of a usage object; within a text the quote would be escaped, and one that is null is ignored. */
const usageKey = Buffer.from('usage"');
const emptyLine = Buffer.from('\n\n');
const deltaBytes = Buffer.from('delta');
/** The number of bytes of an event that are searched for its name. */
const headBytes = 128;
const named = /^(?:event:|data: ?\{\s*"type"\s*:\s*") ?([\w.]+)/m;

/**
 * Leaves every byte of a stream alone, but for secrets of errors. Of what passes only the deltas count for an estimate: other events
 * repeat what was asked, or what was said before.
 */
export abstract class NamedEventTap extends EventTap {
  #isDone = false;
  /** The reason to stop has come, which tells the end as the last event does. Known only to a tap that counts choices. */
  protected hasReason = false;
  /** The last event has come. Known only to a tap that counts choices. */
  #hasLast = false;
  /** The name of an event too long to be held, while it passes. */
  #longName = '';

  override push(chunk: Buffer): Buffer {
    return chunk.length === 0 ? nothing : this.take(chunk);
  }

  finished(): boolean {
    return this.#isDone || this.#hasEnd(this.held.peek());
  }

  answered(): boolean {
    return this.hasReason || this.#hasLast || this.hasLong || this.#hasEnd(this.held.peek());
  }

  missingEnd(): string {
    const hasEnd = this.#hasLast || this.hasLong || this.#hasEnd(this.held.peek());
    return hasEnd || !this.hasReason ? '' : this.lastEvent;
  }

  /** Usage and the end come at once. */
  awaitsUsage(): boolean {
    return false;
  }

  /** The last event, if it says nothing of the answer. */
  protected abstract readonly lastEvent: string;

  /** Whether an event of this name is the last one. */
  protected abstract ends(name: string): boolean;

  /** Whether an event of this name tells of an error. */
  protected abstract fails(name: string): boolean;

  /** Sees a whole event that names a usage. */
  protected abstract readUsage(event: Buffer, name: string): void;

  /** Sees a piece of an event too long to be held, when usage is read. */
  protected abstract readLong(piece: Buffer, name: string): void;

  /** Sees an event that reports, and that may be all there but for the empty line behind it. */
  protected readHeld(): void {
    const held = this.held.peek();
    if (this.options.readsUsage && held.includes(usageKey)) this.readUsage(held, nameOf(held));
  }

  protected pass(whole: Buffer): Buffer {
    const { readsUsage, watchesEnd, choices } = this.options;
    // Where usage is read, the events that are no deltas are looked at anyway.
    if (watchesEnd) this.#isDone ||= this.#hasEnd(whole);
    else if (choices !== undefined && !readsUsage) this.#hasEnd(whole);
    if (readsUsage) this.#read(whole);
    return mayNameError(whole) ? this.withoutErrors(whole) : whole;
  }

  protected override readPiece(piece: Buffer, isFirst: boolean): void {
    if (isFirst) this.#longName = nameOf(piece);
    const name = this.#longName;
    if (this.options.watchesEnd) this.#isDone ||= this.ends(name);
    if (this.options.choices !== undefined) this.#note(name);
    if (!this.options.readsUsage) return;
    if (isDelta(name)) {
      this.bytes += piece.length;
      this.weigh(piece);
    }
    this.readLong(piece, name);
  }

  /** Counts the deltas, and reads the events that report. */
  #read(whole: Buffer): void {
    const hasReturns = whole.includes(carriageReturn);
    let usageAt = whole.indexOf(usageKey);
    let deltas = 0;
    for (let start = 0; start < whole.length; ) {
      const end = hasReturns ? eventEnd(whole, start) : plainEventEnd(whole, start);
      if (namesDelta(whole, start)) {
        deltas += 1;
        this.bytes += end - start;
      } else if (this.options.choices !== undefined) this.#note(nameOf(whole.subarray(start, end)));
      if (usageAt !== -1 && usageAt < end) {
        const event = whole.subarray(start, end);
        this.readUsage(event, nameOf(event));
        usageAt = whole.indexOf(usageKey, end);
      }
      start = end;
    }
    this.counter.count += deltas;
    if (deltas > 0) this.weigh(whole);
  }

  #note(name: string): void {
    this.#hasLast ||= this.ends(name);
    this.hasFailed ||= this.fails(name);
  }

  /** An error without a name is one of a server before the provider. */
  protected override tellsError(event: Buffer): boolean {
    const name = nameOf(event);
    return name === '' ? isFailure(undefined, parseObject(dataOf(event))) : this.fails(name);
  }

  #hasEnd(events: Buffer): boolean {
    for (let start = 0; start < events.length; ) {
      const end = eventEnd(events, start);
      const name = nameOf(events.subarray(start, end));
      if (this.options.choices !== undefined) this.#note(name);
      if (this.ends(name)) return true;
      start = end;
    }
    return false;
  }
}

/** Just past the event at `start`. */
function eventEnd(events: Buffer, start: number): number {
  return firstEventEnd(events, start) || events.length;
}

/** The end of an event where every line ends with LF; a further empty line is an event without data. */
function plainEventEnd(events: Buffer, start: number): number {
  const at = events.indexOf(emptyLine, start);
  return at === -1 ? events.length : at + emptyLine.length;
}

/** Whether the event is a delta: nearly always the first line tells by its end. */
function namesDelta(events: Buffer, start: number): boolean {
  if (events[start] !== 0x65) return isDelta(nameOf(events.subarray(start, start + headBytes)));
  let end = start;
  const most = Math.min(events.length, start + headBytes);
  while (end < most && events[end] !== newline && events[end] !== carriageReturn) end += 1;
  return events.compare(deltaBytes, 0, deltaBytes.length, end - deltaBytes.length, end) === 0;
}

function isDelta(name: string): boolean {
  return name.endsWith('delta');
}

/** The name of an event; empty when it has none. */
function nameOf(event: Buffer): string {
  let start = 0;
  while (isLineEnd(event[start])) start += 1;
  return named.exec(event.toString('latin1', start, start + headBytes))?.[1] ?? '';
}
