// Reads the events of a response as a provider streams it.
import type { StreamEvent, StreamFailure } from '../conversation/stream-event.ts';
import { type JsonObject, numberOf, objectOf, parseObject, textOf } from '../json.ts';
import { type EventReader, InvalidAnswer, type RawEvent } from '../translation.ts';
import { readFinish } from './read-answer.ts';
import { readUsage } from './read-usage.ts';
import { StreamedItem } from './streamed-item.ts';

/** What waits of items that begin before another has ended: events, and their length in characters. */
const mostWaiting = 10_000;
const mostWaitingLength = 16 * 1024 * 1024;
const none: readonly StreamEvent[] = [];

/** Items are told one after the other: the events of one that begins before another has ended wait for it. */
export class ResponsesEventReader implements EventReader {
  #isStarted = false;
  #isEnded = false;
  #parts = 0;
  #seen = { hasCall: false, hasRefusal: false };
  #item: StreamedItem | undefined;
  /** Events of items behind the open one, by `output_index`, in the order in which the items began. */
  readonly #waiting = new Map<number, JsonObject[]>();
  #waitingEvents = 0;
  #waitingLength = 0;

  read({ data, event }: RawEvent): readonly StreamEvent[] {
    if (this.#isEnded || data === '[DONE]') return none;
    const value = parseObject(data);
    if (value === undefined) throw new InvalidAnswer('an event of it is no JSON object');
    return this.#take(textOf(value['type']) ?? event ?? '', value, data.length);
  }

  end(): readonly StreamEvent[] {
    return none;
  }

  #take(type: string, value: JsonObject, length: number): readonly StreamEvent[] {
    switch (type) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        return this.#start(objectOf(value['response']) ?? {});
      case 'response.completed':
      case 'response.incomplete':
        return this.#finish(objectOf(value['response']) ?? {});
      case 'response.failed':
      case 'response.cancelled':
        return this.#fail(objectOf(objectOf(value['response'])?.['error']) ?? {}, `${type} came`);
      case 'error':
        return this.#fail(objectOf(value['error']) ?? value, 'an error came');
      default:
        if (value['error'] !== undefined && type === '')
          return this.#fail(objectOf(value['error']) ?? {}, 'an error came');
        return this.#route(type, value, length);
    }
  }

  #start(response: JsonObject): readonly StreamEvent[] {
    if (this.#isStarted) return none;
    this.#isStarted = true;
    const id = textOf(response['id']) ?? '';
    const model = textOf(response['model']) ?? '';
    return [{ kind: 'started', id, model, createdAt: numberOf(response['created_at']) }];
  }

  #route(type: string, value: JsonObject, length: number): readonly StreamEvent[] {
    const index = numberOf(value['output_index']);
    if (index === undefined) return none;
    if (this.#item !== undefined && this.#item.outputIndex !== index) {
      this.#wait(index, { ...value, type }, length);
      return none;
    }
    const started = this.#start({});
    const events = this.#grow(index, type, value);
    return this.#item === undefined ? [...started, ...events, ...this.#goOn()] : [...started, ...events];
  }

  #wait(index: number, value: JsonObject, length: number): void {
    this.#waitingEvents += 1;
    this.#waitingLength += length;
    if (this.#waitingEvents > mostWaiting || this.#waitingLength > mostWaitingLength) {
      throw new InvalidAnswer('too much of it waits for an item to end');
    }
    const before = this.#waiting.get(index);
    if (before === undefined) this.#waiting.set(index, [value]);
    else before.push(value);
  }

  /** An event of the open item, or of the next one when none is open. */
  #grow(index: number, type: string, value: JsonObject): readonly StreamEvent[] {
    this.#item ??= new StreamedItem(index, this.#parts);
    const events = this.#item.read(type, value);
    this.#note(events);
    if (type === 'response.output_item.done') this.#leaveItem();
    return events;
  }

  #leaveItem(): void {
    this.#parts = this.#item?.nextPart ?? this.#parts;
    this.#item = undefined;
  }

  /** The events that waited, item after item, up to one that has not ended. */
  #goOn(): readonly StreamEvent[] {
    const told: StreamEvent[] = [];
    while (this.#item === undefined) {
      const [next] = this.#waiting;
      if (next === undefined) break;
      const [index, values] = next;
      this.#waiting.delete(index);
      this.#waitingEvents -= values.length;
      for (const value of values) {
        for (const event of this.#grow(index, textOf(value['type']) ?? '', value)) told.push(event);
      }
    }
    if (this.#waitingEvents === 0) this.#waitingLength = 0;
    return told;
  }

  #note(events: readonly StreamEvent[]): void {
    for (const event of events) {
      if (event.kind !== 'opened') continue;
      if (event.part.kind === 'tool_call') this.#seen.hasCall = true;
      if (event.part.kind === 'refusal') this.#seen.hasRefusal = true;
    }
  }

  /** What is still open ends, in a stream that tells no ends of items as well. */
  #close(): readonly StreamEvent[] {
    const told: StreamEvent[] = [];
    while (this.#item !== undefined) {
      for (const event of this.#item.close()) told.push(event);
      this.#leaveItem();
      for (const event of this.#goOn()) told.push(event);
    }
    return told;
  }

  #finish(response: JsonObject): readonly StreamEvent[] {
    const events = [...this.#start(response), ...this.#close()];
    this.#isEnded = true;
    const usage = readUsage(response['usage']);
    if (usage !== undefined) events.push({ kind: 'usage', usage });
    return [...events, { kind: 'finished', finish: readFinish(response, this.#seen) }];
  }

  #fail(error: JsonObject, otherwise: string): readonly StreamEvent[] {
    const events = [...this.#start({}), ...this.#close()];
    this.#isEnded = true;
    const type = textOf(error['type']);
    const code = error['code'];
    const failure: StreamFailure = {
      message: textOf(error['message']) ?? otherwise,
      code: textOf(code) ?? (numberOf(code) === undefined ? null : String(numberOf(code))),
      type: type === undefined || type === 'error' ? null : type,
    };
    return [...events, { kind: 'failed', failure }];
  }
}
