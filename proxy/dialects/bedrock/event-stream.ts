// Cuts the frames of `application/vnd.amazon.eventstream` into events, wherever the chunks of the stream end.
import { crc32 } from 'node:zlib';
import { HeldBytes } from '../../bytes/held-bytes.ts';
import { parseObject, writeJson } from '../json/json.ts';
import { maxEventBytes } from '../server-events.ts';
import { type EventSplitter, InvalidAnswer, type RawEvent } from '../translation.ts';

import { stringHeaders } from './frame-headers.ts';

/** The event name of every failure; the kind of the failure is the member `__type` of its data. */
export const exceptionEvent = 'exception';

/** Length of the frame, length of its headers, and a checksum of the two. */
const preludeBytes = 12;
const checksumBytes = 4;
const none: readonly RawEvent[] = [];

export class EventStreamSplitter implements EventSplitter {
  readonly #held = new HeldBytes();
  /** Bytes that must be there before anything can be told. */
  #needed = preludeBytes;

  push(chunk: Buffer): readonly RawEvent[] {
    const held = this.#held;
    if (chunk.length === 0) return none;
    if (held.length === 0) return this.#cut(chunk);
    held.add(chunk);
    return held.length < this.#needed ? none : this.#cut(held.take());
  }

  /** A frame that is not whole says nothing. */
  end(): readonly RawEvent[] {
    return none;
  }

  #cut(bytes: Buffer): readonly RawEvent[] {
    const events: RawEvent[] = [];
    let from = 0;
    this.#needed = preludeBytes;
    while (bytes.length - from >= preludeBytes) {
      const total = frameLength(bytes, from);
      if (bytes.length - from < total) {
        this.#needed = total;
        break;
      }
      events.push(eventOf(bytes.subarray(from, from + total)));
      from += total;
    }
    if (from < bytes.length) this.#held.add(Buffer.from(bytes.subarray(from)));
    return events;
  }
}

/** Checks the prelude, so that a broken one does not make us wait for bytes that never come. */
function frameLength(bytes: Buffer, from: number): number {
  const total = bytes.readUInt32BE(from);
  const headers = bytes.readUInt32BE(from + 4);
  if (crc32(bytes.subarray(from, from + 8)) !== bytes.readUInt32BE(from + 8)) {
    throw new InvalidAnswer('the checksum at the beginning of an event is wrong');
  }
  if (total > maxEventBytes) throw new InvalidAnswer(`an event is longer than ${maxEventBytes} bytes`);
  if (total < preludeBytes + headers + checksumBytes) {
    throw new InvalidAnswer('an event is shorter than its headers');
  }
  return total;
}

function eventOf(frame: Buffer): RawEvent {
  const behind = frame.length - checksumBytes;
  if (crc32(frame.subarray(0, behind)) !== frame.readUInt32BE(behind)) {
    throw new InvalidAnswer('the checksum of an event is wrong');
  }
  const payloadFrom = preludeBytes + frame.readUInt32BE(4);
  const headers = stringHeaders(frame.subarray(preludeBytes, payloadFrom));
  const data = frame.toString('utf8', payloadFrom, behind);
  const kind = headers.get(':message-type');
  if (kind === 'exception') return exception(headers.get(':exception-type'), data);
  if (kind === 'error')
    return exception(headers.get(':error-code'), writeJson({ message: headers.get(':error-message') }));
  return { event: headers.get(':event-type'), data };
}

function exception(name: string | undefined, data: string): RawEvent {
  const said = parseObject(data) ?? { message: data };
  return { event: exceptionEvent, data: writeJson({ ...said, __type: name }) };
}
