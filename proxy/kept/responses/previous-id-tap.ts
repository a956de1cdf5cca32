// The tap of an answer that goes on from a response which the gateway keeps: its provider was told all that was said before, and does not
// know the id. It is put where the provider says that there is none.
import type { Answer, Failure, Sink, Tap } from '../../answer.ts';
import { lastEventEnd } from '../../bytes/events.ts';
import { HeldBytes } from '../../bytes/held-bytes.ts';
import { memberNamed } from '../../bytes/member-named.ts';
import { scanObject } from '../../bytes/scan.ts';
import { ScanError } from '../../bytes/scan-error.ts';
import { type Edit, splice } from '../../bytes/splice.ts';
import { maxEventBytes } from '../../dialects/server-events.ts';

const key = 'previous_response_id';
const mark = Buffer.from(`"${key}"`);
const newline = 0x0a;

export class PreviousIdTap implements Tap {
  readonly #answer: Pick<Answer, 'stream'>;
  readonly #id: Buffer;

  constructor(answer: Pick<Answer, 'stream'>, id: string) {
    this.#answer = answer;
    this.#id = Buffer.from(JSON.stringify(id));
  }

  whole(body: Buffer): Buffer {
    if (this.#answer.stream) return named(body, this.#id);
    return splice(body, editsIn(body, this.#id));
  }

  /** A body that is not held as a whole is too long to be changed. */
  open(next: Sink): Sink {
    return this.#answer.stream ? new NamingSink(this.#id, next) : next;
  }

  awaitsMore(): boolean {
    return false;
  }
}

/** Holds an event that has not ended. */
class NamingSink implements Sink {
  readonly #id: Buffer;
  readonly #next: Sink;
  readonly #held = new HeldBytes();
  #lastByte: number | undefined;

  constructor(id: Buffer, next: Sink) {
    this.#id = id;
    this.#next = next;
  }

  write(chunk: Buffer): boolean {
    if (chunk.length === 0) return true;
    const end = lastEventEnd(chunk, this.#lastByte);
    this.#lastByte = chunk[chunk.length - 1];
    let whole = chunk.subarray(0, end);
    if (this.#held.length > 0 && end > 0) {
      this.#held.add(whole);
      whole = this.#held.take();
    }
    if (end < chunk.length) this.#held.add(Buffer.from(chunk.subarray(end)));
    if (whole.length > 0) return this.#next.write(named(whole, this.#id));
    // A longer event passes as it is.
    return this.#held.length <= maxEventBytes || this.#next.write(this.#held.take());
  }

  end(failure: Failure | undefined): void {
    if (this.#held.length > 0) this.#next.write(named(this.#held.take(), this.#id));
    this.#next.end(failure);
  }
}

/** Whole events, with the id in the responses that they hold. */
function named(events: Buffer, id: Buffer): Buffer {
  const edits: Edit[] = [];
  for (let at = events.indexOf(mark); at !== -1; ) {
    const start = events.lastIndexOf(newline, at) + 1;
    const feed = events.indexOf(newline, at);
    const end = feed === -1 ? events.length : feed;
    const opening = events.indexOf(0x7b, start);
    if (opening !== -1 && opening < at) edits.push(...editsIn(events.subarray(opening, end), id, opening, 'response'));
    at = events.indexOf(mark, end);
  }
  return splice(events, edits);
}

/**
 * The edits in an object, or in its member `within`; none where it has no such id. `offset`: the start of the object.
 */
function editsIn(object: Buffer, id: Buffer, offset: number = 0, within?: string): readonly Edit[] {
  try {
    const members = scanObject(object);
    if (within !== undefined) {
      const { valueStart = 0, valueEnd = 0 } = memberNamed(object, members, within) ?? {};
      return object[valueStart] === 0x7b && valueEnd > 0
        ? editsIn(object.subarray(valueStart, valueEnd), id, offset + valueStart)
        : [];
    }
    const member = memberNamed(object, members, key);
    if (member === undefined || object[member.valueStart] !== 0x6e) return [];
    return [{ start: offset + member.valueStart, end: offset + member.valueEnd, bytes: id }];
  } catch (error) {
    if (error instanceof ScanError) return [];
    throw error;
  }
}
