// Events of parts that began before another one had ended: they wait for it, because a conversation has one open part at a time.
import type { JsonObject } from './json/json.ts';
import { InvalidAnswer } from './translation.ts';

/** The bounds on the waiting events of one answer: their number, and their length in characters. */
const mostWaiting = 10_000;
const mostWaitingLength = 16 * 1024 * 1024;

export class WaitingEvents {
  /** By the number of their part, in the order in which the parts began. */
  readonly #parts = new Map<number, JsonObject[]>();
  #events = 0;
  #length = 0;

  /** `length`: of the event, in characters. Throws an InvalidAnswer where too much waits. */
  add(part: number, event: JsonObject, length: number): void {
    this.#events += 1;
    this.#length += length;
    if (this.#events > mostWaiting || this.#length > mostWaitingLength) {
      throw new InvalidAnswer('too much of it waits for a part to end');
    }
    const before = this.#parts.get(part);
    if (before === undefined) this.#parts.set(part, [event]);
    else before.push(event);
  }

  /** The number and the events of the part that waits longest; undefined: none does. */
  take(): readonly [part: number, events: readonly JsonObject[]] | undefined {
    const [next] = this.#parts;
    if (next === undefined) {
      this.#length = 0;
      return undefined;
    }
    this.#parts.delete(next[0]);
    this.#events -= next[1].length;
    return next;
  }
}
