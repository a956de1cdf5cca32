// The events of a stream, folded into the answer that would have come without streaming (spec: Audit, bodies of streams).
import type { ConversationRequest } from '../dialects/conversation/conversation.ts';
import { AnswerFold } from '../dialects/conversation/fold-events.ts';
import type { StreamEvent } from '../dialects/conversation/stream-event.ts';
import { isObject, type JsonObject, type JsonValue, parseObject, writeJson } from '../dialects/json/json.ts';
import type { AnswerContext, ClientDialect, EventReader, RawEvent } from '../dialects/translation.ts';

/** Takes the events of one answer, in their order. */
export interface StreamFold {
  /** Gives by how many characters about the answer has grown. Throws an InvalidAnswer for events that make no sense. */
  add(event: RawEvent): number;
  /** The answer as far as it has come; undefined: nothing of one has. */
  answer(context: AnswerContext): JsonObject | undefined;
}

/** Length that counts for an open part, and for an entry of log probabilities. Characters. */
const partLength = 64;
const logprobLength = 128;

/** The request that writers get: an answer in the client's own dialect needs nothing of the real one. */
export const nothingAsked: Omit<ConversationRequest, 'dialect'> = {
  system: [],
  turns: [],
  tools: [],
  sampling: {},
  stop: [],
  stream: true,
  wantsUsage: false,
  ownMembers: [],
};

/** Folds what a reader of the dialect tells. `unfinished` gives a written answer the look of one that was broken off. */
export class ReadFold implements StreamFold {
  readonly #reader: EventReader;
  readonly #writer: Pick<ClientDialect, 'writeAnswer'>;
  readonly #unfinished: (written: JsonObject) => JsonObject;
  readonly #fold = new AnswerFold();
  #hasBegun = false;

  constructor(
    reader: EventReader,
    writer: Pick<ClientDialect, 'writeAnswer'>,
    unfinished: (written: JsonObject) => JsonObject,
  ) {
    this.#reader = reader;
    this.#writer = writer;
    this.#unfinished = unfinished;
  }

  add(event: RawEvent): number {
    return this.take(this.#reader.read(event));
  }

  /** Takes what was read of an event. Gives by how many characters about the answer has grown. */
  take(events: readonly StreamEvent[]): number {
    let length = 0;
    for (const event of events) {
      this.#hasBegun = true;
      this.#fold.add(event);
      length += lengthOf(event);
    }
    return length;
  }

  answer(context: AnswerContext): JsonObject | undefined {
    if (!this.#hasBegun) return undefined;
    if (!this.#fold.isFinished) this.take(this.#reader.end());
    const written = this.#writer.writeAnswer(this.#fold.answer(), context);
    return this.#fold.isFinished ? written : this.#unfinished(written);
  }
}

/** Folds Responses: the last event holds all of the answer, as the client would have got it. */
export class ResponseFold implements StreamFold {
  readonly #begun: ReadFold;
  #whole: JsonObject | undefined;

  constructor(begun: ReadFold) {
    this.#begun = begun;
  }

  add(event: RawEvent): number {
    if (!isLast(event)) return this.#begun.add(event);
    const response = parseObject(event.data)?.['response'];
    if (isObject(response)) this.#whole = response;
    return 0;
  }

  answer(context: AnswerContext): JsonObject | undefined {
    return this.#whole ?? this.#begun.answer(context);
  }
}

const lastTypes = ['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled'];
/** Within so many characters an event without a name says its type. */
const mostBeforeType = 64;

function isLast({ event, data }: RawEvent): boolean {
  const beginning = event ?? data.slice(0, mostBeforeType);
  return lastTypes.some((type) => beginning.includes(type));
}

function lengthOf(event: StreamEvent): number {
  if (event.kind === 'opened') return event.part.kind === 'whole' ? lengthOfValue(event.part.part) : partLength;
  if (event.kind !== 'delta') return 0;
  const { delta } = event;
  if (delta.kind === 'text') return delta.text.length + logprobLength * (delta.logprobs?.length ?? 0);
  return delta.kind === 'summary' ? delta.text.length : lengthOfValue(delta);
}

function lengthOfValue(value: object): number {
  return writeJson(value as JsonValue).length;
}
