// The common part of the taps of all dialects: whole events pass, long ones pass in pieces, and secrets in errors are removed.
import { isAscii } from 'node:buffer';
import { editEvents, firstEventEnd, lastEventEnd } from '../bytes/events.ts';
import { HeldBytes } from '../bytes/held-bytes.ts';
import { EventCounter } from '../tokens/event-counter.ts';
import { wideTokensOf } from '../tokens/text-weight.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';
import type { WatchedStream, WatchOptions } from '../tokens/watched-stream.ts';
import { errorMark, type PassingSecrets, passingSecrets, withoutSecrets } from './stream-secrets.ts';

/** An unfinished event longer than this passes unread. */
const maxHeldBytes = 256 * 1024;

const newline = 0x0a;
const carriageReturn = 0x0d;
export const nothing: Buffer = Buffer.alloc(0);

/**
 * Sees every chunk of a stream before the client does, and passes whole events on. Only an event that has not ended yet is held back, so
 * that a stream that breaks off breaks between events. What may pass of whole events, and what they tell, is the dialect's matter.
 */
export abstract class EventTap implements WatchedStream {
  /** How much of the stream came. */
  bytes = 0;
  /** The estimated tokens of letters beyond Latin. */
  wideTokens = 0;
  /** Bytes of an unfinished event were passed on, because it was too long to hold. */
  insideEvent = false;
  /** An event too long to be held has passed, and may have told the end. */
  protected hasLong = false;
  protected hasFailed = false;

  protected readonly options: WatchOptions;
  /** The beginning of an event that has not ended. */
  protected readonly held = new HeldBytes();
  protected readonly counter = new EventCounter();
  /** Removes secrets from an event too long to be held; made when such an event comes. */
  #passing: PassingSecrets | undefined;
  #lastByte: number | undefined;

  constructor(options: WatchOptions) {
    this.options = options;
  }

  /** The bytes to pass on now, perhaps none. */
  push(chunk: Buffer): Buffer {
    this.bytes += chunk.length;
    return chunk.length === 0 ? nothing : this.take(chunk);
  }

  /** The bytes of an event that did not end: they belong to the client only when the stream did end. */
  rest(): Buffer {
    const rest = this.insideEvent ? this.#secretsPassing().flush() : this.held.peek();
    return rest.includes(errorMark) ? withoutSecrets(rest, this.options.secrets) : rest;
  }

  /** Events with data that have passed, but for those that say nothing. */
  events(): number {
    return this.counter.count;
  }

  /** The terminal event has come. Known only to a tap that watches the end. */
  abstract finished(): boolean;

  /** The terminal event has come, or why the answer ends. Known only to a tap that counts choices. */
  abstract answered(): boolean;

  abstract missingEnd(): string;

  failed(): boolean {
    return this.hasFailed;
  }

  /** Whether a whole event tells of an error. */
  protected abstract tellsError(event: Buffer): boolean;

  /** The usage that was reported. Known, like what is below, only to a tap that reads usage. */
  abstract usage(): TokenUsage | undefined;

  /** The answer was ended, and its usage may come next. */
  abstract awaitsUsage(): boolean;

  /** Returns the bytes of these whole events that may pass. */
  protected abstract pass(whole: Buffer): Buffer;

  /** Takes bytes, at least one. */
  protected take(chunk: Buffer): Buffer {
    const before = this.#lastByte;
    this.#lastByte = chunk[chunk.length - 1];
    if (this.insideEvent) return this.#takeInside(chunk, before);
    const { held } = this;
    const isOld = held.length === 0 && before === carriageReturn && chunk[0] === newline;
    const end = lastEventEnd(chunk, before) || (isOld ? 1 : 0);
    if (end === chunk.length && held.length === 0) return this.pass(chunk);
    if (end > 0) {
      held.add(chunk.subarray(0, end));
      const events = held.take();
      if (end < chunk.length) held.add(chunk.subarray(end));
      return this.pass(events);
    }
    held.add(chunk);
    if (held.length <= maxHeldBytes) return nothing;
    this.insideEvent = true;
    this.hasLong = true;
    return this.#passPiece(held.take(), true);
  }

  /** Sees a piece of an event too long to be held; `isFirst`: its beginning. */
  protected readPiece(piece: Buffer, _isFirst: boolean): void {
    if (!this.options.readsUsage) return;
    this.counter.push(piece);
    this.weigh(piece);
  }

  protected weigh(bytes: Buffer): void {
    if (!isAscii(bytes)) this.wideTokens += wideTokensOf(bytes);
  }

  protected withoutErrors(events: Buffer): Buffer {
    const { choices, secrets } = this.options;
    return editEvents(events, errorFrom, (event) => {
      if (choices !== undefined) this.hasFailed ||= this.tellsError(event);
      return withoutSecrets(event, secrets);
    });
  }

  #takeInside(chunk: Buffer, before: number | undefined): Buffer {
    const end = firstEventEnd(chunk, 0, before);
    const piece = this.#passPiece(end === 0 ? chunk : chunk.subarray(0, end), false);
    if (end === 0) return piece;
    this.insideEvent = false;
    const last = Buffer.concat([piece, this.#secretsPassing().flush()]);
    if (end === chunk.length) return last;
    this.#lastByte = chunk[end - 1];
    return Buffer.concat([last, this.take(chunk.subarray(end))]);
  }

  /** The next piece of an event too long to be held. */
  #passPiece(piece: Buffer, isFirst: boolean): Buffer {
    this.readPiece(piece, isFirst);
    return this.#secretsPassing().push(piece);
  }

  #secretsPassing(): PassingSecrets {
    this.#passing ??= passingSecrets(this.options.secrets);
    return this.#passing;
  }
}

function errorFrom(events: Buffer, from: number): number {
  return events.indexOf(errorMark, from);
}
