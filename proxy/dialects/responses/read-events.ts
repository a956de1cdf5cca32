// Reads the events of a response as a provider streams it.
import type { StreamEvent, StreamFailure } from '../conversation/stream-event.ts';
import { type JsonObject, numberOf, objectOf, parseObject, textOf } from '../json.ts';
import { type EventReader, InvalidAnswer, type RawEvent } from '../translation.ts';
import { readFinish } from './read-answer.ts';
import { readUsage } from './read-usage.ts';
import { StreamedItem } from './streamed-item.ts';

/** Events of items that begin before another has ended. */
const mostWaiting = 10_000;
const none: readonly StreamEvent[] = [];

/** Items are told one after the other: the events of one that begins before another has ended wait for it. */
export class ResponsesEventReader implements EventReader {
  #isStarted = false;
  #isEnded = false;
  #parts = 0;
  #seen = { hasCall: false, hasRefusal: false };
  #item: StreamedItem | undefined;
  #waiting: JsonObject[] = [];

  read({ data, event }: RawEvent): readonly StreamEvent[] {
    if (this.#isEnded || data === '[DONE]') return none;
    const value = parseObject(data);
    if (value === undefined) throw new InvalidAnswer('an event of it is no JSON object');
    return this.#take(textOf(value['type']) ?? event ?? '', value);
  }

  end(): readonly StreamEvent[] {
    return none;
  }

  #take(type: string, value: JsonObject): readonly StreamEvent[] {
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
        return numberOf(value['output_index']) === undefined ? none : [...this.#start({}), ...this.#route(type, value)];
    }
  }

  #start(response: JsonObject): readonly StreamEvent[] {
    if (this.#isStarted) return none;
    this.#isStarted = true;
    const id = textOf(response['id']) ?? '';
    const model = textOf(response['model']) ?? '';
    return [{ kind: 'started', id, model, createdAt: numberOf(response['created_at']) }];
  }

  #route(type: string, value: JsonObject): readonly StreamEvent[] {
    const index = numberOf(value['output_index']) ?? 0;
    if (this.#item !== undefined && this.#item.outputIndex !== index) {
      if (this.#waiting.length === mostWaiting) throw new InvalidAnswer('too much of it waits for an item to end');
      this.#waiting.push({ ...value, type });
      return none;
    }
    this.#item ??= new StreamedItem(index, this.#parts);
    const events = this.#item.read(type, value);
    this.#note(events);
    if (type !== 'response.output_item.done') return events;
    this.#parts = this.#item.nextPart;
    this.#item = undefined;
    return [...events, ...this.#replay()];
  }

  /** The events that waited: of another item, until it too has ended. */
  #replay(): readonly StreamEvent[] {
    const waiting = this.#waiting;
    if (waiting.length === 0) return none;
    this.#waiting = [];
    return waiting.flatMap((value) => this.#route(textOf(value['type']) ?? '', value));
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
    const events: StreamEvent[] = [];
    while (this.#item !== undefined) {
      events.push(...this.#item.close());
      this.#parts = this.#item.nextPart;
      this.#item = undefined;
      events.push(...this.#replay());
    }
    return events;
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
