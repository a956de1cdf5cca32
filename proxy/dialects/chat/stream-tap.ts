// Watches an event stream as its bytes pass: was it finished, what did it cost, which event exists only because the gateway asked for usage,
// and does one tell a secret.
import { isAscii } from 'node:buffer';
import { editEvents, firstEventEnd, lastEventEnd } from '../../bytes/events.ts';
import { HeldBytes } from '../../bytes/held-bytes.ts';
import { EventCounter } from '../../tokens/event-counter.ts';
import { wideTokensOf } from '../../tokens/text-weight.ts';
import type { TokenUsage } from '../../tokens/token-usage.ts';
import type { WatchedStream, WatchOptions } from '../../tokens/watched-stream.ts';
import { errorMark, mayNameError, type PassingSecrets, passingSecrets, withoutSecrets } from '../stream-secrets.ts';
import {
  countNullEvents,
  endsWithNull,
  hasNoReason,
  isUsageEvent,
  lastUsage,
  mayReport,
  reportFrom,
} from './stream-usage.ts';

/** An unfinished event longer than this passes unread. */
const maxHeldBytes = 256 * 1024;
/** In so many events, and later in every eighth, other scripts are looked for, which takes 45 ns; once there is one, in all. */
const firstEvents = 16;

const newline = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const colon = 0x3a;
const terminal = /^data: ?\[DONE\]\r?$/m;
const reasonKey = Buffer.from('"finish_reason"');
const nothing: Buffer = Buffer.alloc(0);

/**
 * Sees every chunk of a stream before the client does, and passes whole events on. It leaves every byte alone, but for the event that
 * reports usage and nothing else when `dropsUsage` is set, and for secrets: those in errors, and known ones in events too long to be
 * read. Only an event that has not ended yet is held back, so that a stream that breaks off breaks between events.
 */
export class StreamTap implements WatchedStream {
  /** How much of the stream came. */
  bytes = 0;
  /** What the letters beyond Latin cost, for an estimate. */
  wideTokens = 0;
  /** Bytes of an unfinished event were passed on, because it was too long to hold. */
  insideEvent = false;

  readonly #options: WatchOptions;
  readonly #held = new HeldBytes();
  readonly #counter = new EventCounter();
  /** What passes of an event too long to be held; made when there is one. */
  #passing: PassingSecrets | undefined;
  #isDone = false;
  #lastByte: number | undefined;
  /** The last events that passed, comments excepted, have ended the answer. */
  #isAnswered = false;
  /** The event before was dropped, and the newline that completes its last line may still come. */
  #dropsNewline = false;
  #usage: TokenUsage | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** The bytes to pass on now, perhaps none. */
  push(chunk: Buffer): Buffer {
    this.bytes += chunk.length;
    if (!this.#dropsNewline) return chunk.length === 0 ? nothing : this.#take(chunk);
    this.#dropsNewline = false;
    const rest = chunk[0] === newline ? chunk.subarray(1) : chunk;
    return rest.length === 0 ? nothing : this.#take(rest);
  }

  /** The bytes of an event that did not end: they belong to the client only when the stream did end. */
  rest(): Buffer {
    const rest = this.insideEvent ? this.#secretsPassing().flush() : this.#held.peek();
    return rest.includes(errorMark) ? withoutSecrets(rest, this.#options.secrets) : rest;
  }

  /** The terminal event has come. Known only to a tap that watches the end. */
  finished(): boolean {
    return this.#isDone || terminal.test(this.#held.peek().toString('latin1'));
  }

  /** The last usage that was reported. Known, like what is below, only to a tap that reads usage. */
  usage(): TokenUsage | undefined {
    return this.#options.readsUsage ? (lastUsage(this.#held.peek()) ?? this.#usage) : undefined;
  }

  /** What was said last ended the answer (its `finish_reason`), and usage was not reported: it may come next. */
  awaitsUsage(): boolean {
    if (!this.#options.readsUsage || this.#usage !== undefined) return false;
    return this.#held.length === 0 && this.#isAnswered;
  }

  /** Events with data that have passed, but for the terminal one. */
  events(): number {
    return this.#counter.count;
  }

  #take(chunk: Buffer): Buffer {
    const before = this.#lastByte;
    this.#lastByte = chunk[chunk.length - 1];
    if (this.insideEvent) return this.#takeInside(chunk, before);
    const held = this.#held;
    const isOld = held.length === 0 && before === carriageReturn && chunk[0] === newline;
    const end = lastEventEnd(chunk, before) || (isOld ? 1 : 0);
    if (end === chunk.length && held.length === 0) return this.#pass(chunk);
    if (end > 0) {
      held.add(chunk.subarray(0, end));
      const events = held.take();
      if (end < chunk.length) held.add(chunk.subarray(end));
      return this.#pass(events);
    }
    held.add(chunk);
    if (held.length <= maxHeldBytes) return nothing;
    this.insideEvent = true;
    return this.#passPiece(held.take());
  }

  #takeInside(chunk: Buffer, before: number | undefined): Buffer {
    const end = firstEventEnd(chunk, 0, before);
    const piece = this.#passPiece(end === 0 ? chunk : chunk.subarray(0, end));
    if (end === 0) return piece;
    this.insideEvent = false;
    const last = Buffer.concat([piece, this.#secretsPassing().flush()]);
    if (end === chunk.length) return last;
    this.#lastByte = chunk[end - 1];
    return Buffer.concat([last, this.#take(chunk.subarray(end))]);
  }

  /** What may pass of these whole events. */
  #pass(whole: Buffer): Buffer {
    const { dropsUsage, readsUsage, watchesEnd } = this.#options;
    if (watchesEnd) this.#isDone ||= terminal.test(whole.toString('latin1'));
    const events = mayNameError(whole) ? this.#withoutErrors(whole) : whole;
    if (!readsUsage && !dropsUsage) return events;
    const before = this.#counter.count;
    const hasReturns = whole.includes(carriageReturn);
    const nullBytes = hasReturns ? 0 : countNullEvents(whole, this.#counter);
    const rest = nullBytes === 0 ? whole : whole.subarray(nullBytes);
    if (readsUsage) {
      if (rest.length > 0) this.#counter.push(rest, hasReturns);
      const count = this.#counter.count - before;
      const hasEighth = ((before + 7) % 8) + count > 7;
      if (hasEighth || before < firstEvents || this.wideTokens > 0) this.#weigh(whole);
      // Whether it is so is kept, and not the bytes: each chunk would keep the 64 KiB it was read into.
      const isOpen = endsWithNull(whole) && hasNoReason(whole);
      if (whole[0] !== colon) this.#isAnswered = !isOpen && endsAnswer(whole);
    }
    if (rest.length === 0 || !mayReport(rest)) return events;
    if (readsUsage) this.#usage = lastUsage(rest) ?? this.#usage;
    return dropsUsage ? this.#withoutUsage(events, events === whole ? nullBytes : 0) : events;
  }

  /** The next piece of an event too long to be held. */
  #passPiece(piece: Buffer): Buffer {
    if (this.#options.readsUsage) {
      this.#counter.push(piece);
      this.#weigh(piece);
    }
    return this.#secretsPassing().push(piece);
  }

  #weigh(bytes: Buffer): void {
    if (!isAscii(bytes)) this.wideTokens += wideTokensOf(bytes);
  }

  #secretsPassing(): PassingSecrets {
    this.#passing ??= passingSecrets(this.#options.secrets);
    return this.#passing;
  }

  #withoutErrors(events: Buffer): Buffer {
    return editEvents(events, errorFrom, (event) => withoutSecrets(event, this.#options.secrets));
  }

  /** Before `from` no event reports. */
  #withoutUsage(events: Buffer, from: number): Buffer {
    const edit = (event: Buffer, isLast: boolean): Buffer => {
      if (!isUsageEvent(event)) return event;
      this.#dropsNewline = isLast && this.#held.length === 0 && event[event.length - 1] === carriageReturn;
      return nothing;
    };
    return editEvents(events, reportFrom, edit, from);
  }
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
