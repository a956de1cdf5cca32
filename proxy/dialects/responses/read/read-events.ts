// Reads the events of a response as a provider streams it.
import type { StreamEvent, StreamFailure } from '../../conversation/stream-event.ts';
import { isObject, type JsonObject, listOf, numberOf, objectOf, parseObject, textOf } from '../../json/json.ts';
import { type EventReader, InvalidAnswer, type RawEvent } from '../../translation.ts';
import { WaitingEvents } from '../../waiting-events.ts';
import { StreamedItem } from '../streamed-item.ts';
import { readFinish } from './read-answer.ts';
import { readUsage } from './read-usage.ts';

/** Some servers call an item by another id in each event. */
const mostIds = 4;
const none: readonly StreamEvent[] = [];
const itemDone = 'response.output_item.done';
/** Events of items, of which some servers do not say which one they mean. */
const ofItem =
  /^response\.(output_item|content_part|output_text|refusal|reasoning|function_call_arguments|custom_tool_call_input)/;

/** Items are told one after the other: the events of one that begins before another has ended wait for it. */
export class ResponsesEventReader implements EventReader {
  #isStarted = false;
  #isEnded = false;
  #parts = 0;
  #seen = { hasCall: false, hasRefusal: false };
  #item: StreamedItem | undefined;
  /** The ids by which events call the open item. */
  readonly #ids = new Set<string>();
  /** The items that have been told, by `output_index` and by id, and the number behind the highest. */
  readonly #told = new Set<number>();
  readonly #toldIds = new Set<string>();
  #nextIndex = 0;
  readonly #waiting = new WaitingEvents();

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
    const index = this.#indexOf(type, value);
    if (index === undefined || this.#isLate(value)) return none;
    if (this.#item !== undefined && this.#item.outputIndex !== index) {
      this.#waiting.add(index, { ...value, type }, length);
      return none;
    }
    const started = this.#start({});
    const events = this.#grow(index, type, value);
    return this.#item === undefined ? [...started, ...events, ...this.#goOn()] : [...started, ...events];
  }

  /** The event repeats an item that was told: neither its id nor its number is new. */
  #isLate(value: JsonObject): boolean {
    const index = numberOf(value['output_index']);
    return this.#toldIds.has(idOf(value)) && (index === undefined || this.#told.has(index));
  }

  #indexOf(type: string, value: JsonObject): number | undefined {
    const index = numberOf(value['output_index']);
    return index ?? (ofItem.test(type) ? (this.#item?.outputIndex ?? this.#nextIndex) : undefined);
  }

  /** An event of the open item, or of the next one when none is open. */
  #grow(index: number, type: string, value: JsonObject): readonly StreamEvent[] {
    this.#item ??= new StreamedItem(index, this.#parts);
    if (this.#ids.size < mostIds) this.#ids.add(idOf(value));
    const events = this.#item.read(type, value);
    this.#note(events);
    if (type === itemDone) this.#leaveItem();
    return events;
  }

  #leaveItem(): void {
    const item = this.#item;
    if (item === undefined) return;
    this.#parts = item.nextPart;
    this.#nextIndex = Math.max(this.#nextIndex, item.outputIndex + 1);
    if (item.isTold) {
      this.#told.add(item.outputIndex);
      for (const id of this.#ids) if (id !== '') this.#toldIds.add(id);
    }
    this.#ids.clear();
    this.#item = undefined;
  }

  /** The events that waited, item after item, up to one that has not ended. */
  #goOn(): readonly StreamEvent[] {
    const told: StreamEvent[] = [];
    while (this.#item === undefined) {
      const next = this.#waiting.take();
      if (next === undefined) break;
      const [index, values] = next;
      for (const value of values) {
        for (const event of this.#grow(index, textOf(value['type']) ?? '', value)) told.push(event);
      }
    }
    return told;
  }

  #note(events: readonly StreamEvent[]): void {
    for (const event of events) {
      if (event.kind !== 'opened') continue;
      if (event.part.kind === 'tool_call') this.#seen.hasCall = true;
      if (event.part.kind === 'refusal') this.#seen.hasRefusal = true;
    }
  }

  /** Ends what is still open, for a stream without the ends of its items. `output`: the final items. */
  #close(output: readonly JsonObject[]): readonly StreamEvent[] {
    const told: StreamEvent[] = [];
    while (this.#item !== undefined) {
      const item = this.#item;
      const whole = output.find((one) => this.#ids.has(idOf({ item: one }))) ?? output[item.outputIndex];
      const events = whole === undefined ? item.end() : item.read(itemDone, { item: whole });
      this.#note(events);
      for (const event of events) told.push(event);
      this.#leaveItem();
      for (const event of this.#goOn()) told.push(event);
    }
    return told;
  }

  /** The items of which no event told anything. */
  #untold(output: readonly JsonObject[]): readonly StreamEvent[] {
    return output.flatMap((item, index) => {
      if (this.#told.has(index) || this.#toldIds.has(idOf({ item }))) return [];
      return this.#grow(index, itemDone, { item });
    });
  }

  #finish(response: JsonObject): readonly StreamEvent[] {
    const output = (listOf(response['output']) ?? []).filter(isObject);
    const events = [...this.#start(response), ...this.#close(output), ...this.#untold(output)];
    this.#isEnded = true;
    const usage = readUsage(response['usage']);
    if (usage !== undefined) events.push({ kind: 'usage', usage });
    return [...events, { kind: 'finished', finish: readFinish(response, this.#seen) }];
  }

  #fail(error: JsonObject, otherwise: string): readonly StreamEvent[] {
    const events = [...this.#start({}), ...this.#close([])];
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

/** The id of an event's item; empty when it has none. */
function idOf(event: JsonObject): string {
  return textOf(objectOf(event['item'])?.['id']) ?? textOf(event['item_id']) ?? '';
}
