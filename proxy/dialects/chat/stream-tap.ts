// Watches an event stream as its bytes pass: was it finished, what did it cost, which event exists only because the gateway asked for usage,
// and does one tell a secret.
import { dataOf, editEvents } from '../../bytes/events.ts';
import type { TokenUsage } from '../../tokens/token-usage.ts';
import { EventTap, nothing } from '../event-tap.ts';
import { parseObject } from '../json/json.ts';
import { mayNameError } from '../stream-secrets.ts';
import { isBrokenOff } from './broken-answer.ts';
import {
  countNullEvents,
  endsWithNull,
  hasNoReason,
  isUsageEvent,
  lastUsage,
  mayReport,
  reportFrom,
} from './stream-usage.ts';

/** In so many events, and later in every eighth, other scripts are looked for, which takes 45 ns; once there is one, in all. */
const firstEvents = 16;

const newline = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const colon = 0x3a;
const brace = 0x7d;
/** The last event of chat, and comments behind it. Bytes. */
const lastBytes = 256;
const terminal = /^data: ?\[DONE\]\r?$/m;
const errorName = /^event: ?error/m;
const reasonKey = Buffer.from('"finish_reason"');

/**
 * Leaves every byte of a stream alone, but for the event that reports usage and nothing else when `dropsUsage` is set, and for secrets:
 * those in errors, and known ones in events too long to be read.
 */
export class StreamTap extends EventTap {
  #isDone = false;
  /** The last events that passed, comments excepted, have ended the answer. */
  #isAnswered = false;
  /** The terminal event has come. Known only to a tap that counts choices. */
  #hasLast = false;
  /** The number of choices with a finish reason. */
  #reasons = 0;
  /** The event before was dropped, and the newline that completes its last line may still come. */
  #dropsNewline = false;
  #usage: TokenUsage | undefined;

  override push(chunk: Buffer): Buffer {
    this.bytes += chunk.length;
    if (!this.#dropsNewline) return chunk.length === 0 ? nothing : this.take(chunk);
    this.#dropsNewline = false;
    const rest = chunk[0] === newline ? chunk.subarray(1) : chunk;
    return rest.length === 0 ? nothing : this.take(rest);
  }

  finished(): boolean {
    return this.#isDone || terminal.test(this.held.peek().toString('latin1'));
  }

  answered(): boolean {
    const { choices = Number.POSITIVE_INFINITY } = this.options;
    if (this.#hasLast || this.hasLong || this.#reasons >= choices) return true;
    const held = this.held.peek();
    return terminal.test(held.toString('latin1')) || this.#reasons + reasonsIn(held) >= choices;
  }

  missingEnd(): string {
    const hasEnd = this.#hasLast || this.hasLong || terminal.test(this.held.peek().toString('latin1'));
    return hasEnd || !this.answered() ? '' : 'data: [DONE]\n\n';
  }

  /** The last usage that was reported. */
  usage(): TokenUsage | undefined {
    return this.options.readsUsage ? (lastUsage(this.held.peek()) ?? this.#usage) : undefined;
  }

  /** Whether the answer has ended (`finish_reason`) without usage, which may come next. */
  awaitsUsage(): boolean {
    if (!this.options.readsUsage || this.#usage !== undefined) return false;
    return this.held.length === 0 && this.#isAnswered;
  }

  protected pass(whole: Buffer): Buffer {
    const { dropsUsage, readsUsage, watchesEnd, choices } = this.options;
    if (watchesEnd) this.#isDone ||= terminal.test(whole.toString('latin1'));
    if (choices !== undefined) this.#hasLast ||= endsWithLast(whole);
    const events = mayNameError(whole) ? this.withoutErrors(whole) : whole;
    if (!readsUsage && !dropsUsage) {
      if (choices !== undefined) this.#reasons += reasonsIn(whole);
      return events;
    }
    const before = this.counter.count;
    const hasReturns = whole.includes(carriageReturn);
    const nullBytes = hasReturns ? 0 : countNullEvents(whole, this.counter);
    const rest = nullBytes === 0 ? whole : whole.subarray(nullBytes);
    if (readsUsage) {
      if (rest.length > 0) this.counter.push(rest, hasReturns);
      const count = this.counter.count - before;
      const hasEighth = ((before + 7) % 8) + count > 7;
      if (hasEighth || before < firstEvents || this.wideTokens > 0) this.weigh(whole);
      // Whether it is so is kept, and not the bytes: each chunk would keep the 64 KiB it was read into.
      const isOpen = endsWithNull(whole) && hasNoReason(whole);
      if (whole[0] !== colon) this.#isAnswered = !isOpen && endsAnswer(whole);
      // In one read the ends of several choices may come.
      if (choices !== undefined && choices > 1) this.#reasons += reasonsIn(whole);
      else if (this.#isAnswered) this.#reasons = 1;
    }
    if (rest.length === 0 || !mayReport(rest)) return events;
    if (readsUsage) this.#usage = lastUsage(rest) ?? this.#usage;
    return dropsUsage ? this.#withoutUsage(events, events === whole ? nullBytes : 0) : events;
  }

  protected override tellsError(event: Buffer): boolean {
    return isBrokenOff(errorName.test(event.toString('latin1', 0, 64)), parseObject(dataOf(event)));
  }

  /** Before `from` no event reports. */
  #withoutUsage(events: Buffer, from: number): Buffer {
    const edit = (event: Buffer, isLast: boolean): Buffer => {
      if (!isUsageEvent(event)) return event;
      this.#dropsNewline = isLast && this.held.length === 0 && event[event.length - 1] === carriageReturn;
      return nothing;
    };
    return editEvents(events, reportFrom, edit, from);
  }
}

/** Whether the last event is that of chat. Nearly all others end with a brace. */
function endsWithLast(events: Buffer): boolean {
  const { length } = events;
  return events[length - 3] !== brace && terminal.test(events.toString('latin1', Math.max(0, length - lastBytes)));
}

/** How many choices of these events name a reason. */
function reasonsIn(events: Buffer): number {
  let count = 0;
  for (let at = events.indexOf(reasonKey); at !== -1; ) {
    let value = at + reasonKey.length;
    while (events[value] === colon || events[value] === 0x20) value += 1;
    if (events[value] === quote && events[value + 1] !== quote) count += 1;
    at = events.indexOf(reasonKey, value);
  }
  return count;
}

/** Whether the last `finish_reason` of these events is a reason. */
function endsAnswer(events: Buffer): boolean {
  const at = events.lastIndexOf(reasonKey);
  if (at === -1) return false;
  let value = at + reasonKey.length;
  while (events[value] === colon || events[value] === 0x20) value += 1;
  return events[value] === quote && !terminal.test(events.toString('latin1', value));
}
