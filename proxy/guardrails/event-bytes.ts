// The events of a stream with their bytes, so that an unchanged event goes on as it came.
import { dataOf, firstEventEnd, lastEventEnd } from '../bytes/events.ts';
import { HeldBytes } from '../bytes/held-bytes.ts';

/** One event of a stream. */
export interface StreamedEvent {
  /** All of its lines, with the empty one behind. */
  readonly bytes: Buffer;
  /** Its name; undefined: it has none. */
  readonly name: string | undefined;
  /** Empty: a comment. */
  readonly data: string;
}

const named = /^event: ?(.*?)\r?$/m;

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
    return eventsIn(whole);
  }

  /** The stream is over: what is left. */
  end(): readonly StreamedEvent[] {
    return this.#held.length === 0 ? [] : eventsIn(this.#held.take());
  }
}

function eventsIn(whole: Buffer): StreamedEvent[] {
  const events: StreamedEvent[] = [];
  for (let start = 0; start < whole.length; ) {
    const end = firstEventEnd(whole, start) || whole.length;
    const bytes = whole.subarray(start, end);
    events.push({ bytes, name: named.exec(bytes.toString('utf8'))?.[1], data: dataOf(bytes) });
    start = end;
  }
  return events;
}

/** The bytes of an event with this body. */
export function writeEvent(name: string | undefined, json: string): Buffer {
  return Buffer.from(`${name === undefined ? '' : `event: ${name}\n`}data: ${json}\n\n`);
}
