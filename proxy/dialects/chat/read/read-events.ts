// Reads the chunks of a streamed answer.
import type { StreamEvent } from '../../conversation/stream-event.ts';
import { type JsonObject, listOf, numberOf, objectOf, parseObject, textOf } from '../../json/json.ts';
import { type EventReader, InvalidAnswer, type RawEvent } from '../../translation.ts';
import { brokenReasons, isFailure } from '../broken-answer.ts';
import { readSources } from '../citations.ts';
import { readFinish } from '../finish.ts';
import { DeltaReader } from './read-delta.ts';
import { readError } from './read-error.ts';
import { usageIn } from './read-usage.ts';

const none: readonly StreamEvent[] = [];

/** Reads the first choice; others are not asked for in translation. */
export class ChunkReader implements EventReader {
  readonly #deltas = new DeltaReader();
  #isStarted = false;
  #isEnded = false;
  /** The choice that named a reason to finish. */
  #last: JsonObject | undefined;

  read({ event, data }: RawEvent): readonly StreamEvent[] {
    if (this.#isEnded) return none;
    if (data.trim() === '[DONE]') return this.#finish();
    const body = parseObject(data);
    if (isFailure(event, body)) return this.#fail(data);
    if (body === undefined) throw new InvalidAnswer('an event of its stream is no JSON object');
    return this.readBody(body);
  }

  /** A chunk as JSON. */
  readBody(body: JsonObject): readonly StreamEvent[] {
    if (this.#isEnded) return none;
    const choice = firstChoice(body);
    const begun = this.#isStarted ? undefined : this.#start(body);
    const delta = objectOf(choice?.['delta']) ?? objectOf(choice?.['message']);
    let events = delta === undefined ? none : this.#deltas.read(delta, choice?.['logprobs']);
    if (begun !== undefined) events = [begun, ...events];
    if (body['citations'] || body['search_results']) this.#deltas.keepSources(readSources(body));
    // Some servers name an empty reason as long as the answer goes on.
    if (textOf(choice?.['finish_reason'])) this.#last = choice;
    const usage = usageIn(body, choice);
    return usage === undefined ? events : [...events, { kind: 'usage', usage }];
  }

  end(): readonly StreamEvent[] {
    if (this.#isEnded) return none;
    if (this.#last !== undefined) return this.#finish();
    this.#isEnded = true;
    return this.#deltas.end();
  }

  #start(body: JsonObject): StreamEvent {
    this.#isStarted = true;
    const createdAt = numberOf(body['created']);
    return { kind: 'started', id: textOf(body['id']) ?? '', model: textOf(body['model']) ?? '', createdAt };
  }

  #finish(): readonly StreamEvent[] {
    if (!this.#isStarted) throw new InvalidAnswer('its stream is empty');
    this.#isEnded = true;
    const reason = textOf(this.#last?.['finish_reason']) ?? '';
    const isBroken = brokenReasons.includes(reason);
    const failure = { message: `The provider ended the answer: ${reason}.`, code: reason, type: null };
    return [
      ...this.#deltas.end(),
      isBroken ? { kind: 'failed', failure } : { kind: 'finished', finish: readFinish(this.#last, this.#deltas) },
    ];
  }

  #fail(text: string): readonly StreamEvent[] {
    this.#isEnded = true;
    const { message, code, type } = readError(text);
    const begun = this.#isStarted ? [] : [this.#start({})];
    return [...begun, ...this.#deltas.end(), { kind: 'failed', failure: { message, code, type } }];
  }
}

/** The choice that stands for the answer; undefined: none does. */
export function firstChoice(body: JsonObject): JsonObject | undefined {
  for (const value of listOf(body['choices']) ?? []) {
    const choice = objectOf(value);
    if (choice !== undefined && (numberOf(choice['index']) ?? 0) === 0) return choice;
  }
  return undefined;
}
