// The chunks of chat and of text completions, folded into one answer with all its choices.

import { isFailure } from '../dialects/chat/broken-answer.ts';
import type { ChunkReader } from '../dialects/chat/read/read-events.ts';
import {
  isObject,
  type JsonObject,
  type JsonValue,
  listOf,
  numberOf,
  parseObject,
  writeJson,
} from '../dialects/json/json.ts';
import type { AnswerContext, ClientDialect, RawEvent } from '../dialects/translation.ts';
import { ReadFold, type StreamFold } from './stream-fold.ts';

/** Members of a chunk that the readers know, and one that means nothing in an answer. All others are kept as they are. */
const framing = new Set(['id', 'object', 'created', 'model', 'choices', 'usage', 'error', 'obfuscation']);
/** Names beyond are left out, and what one takes besides its letters and its value. Characters. */
const mostBeside = 64;
const besideLength = 64;
/** Choices beyond are left out: providers give at most so many. */
const mostChoices = 128;

/** `length`: about what it takes, with its name. Characters. */
interface Beside {
  readonly value: JsonValue;
  readonly length: number;
}

interface Choice {
  readonly reader: ChunkReader;
  readonly fold: ReadFold;
}

/** A reader knows one choice, so each has its own. */
export class ChoicesFold implements StreamFold {
  readonly #newReader: () => ChunkReader;
  readonly #writer: Pick<ClientDialect, 'writeAnswer'>;
  readonly #choices = new Map<number, Choice>();
  /** Other members of chunks, by name: the service tier, sources, a provider's own. */
  readonly #beside = new Map<string, Beside>();

  constructor(newReader: () => ChunkReader, writer: Pick<ClientDialect, 'writeAnswer'>) {
    this.#newReader = newReader;
    this.#writer = writer;
  }

  add(event: RawEvent): number {
    const body = event.data.trim() === '[DONE]' ? undefined : parseObject(event.data);
    const choices = (listOf(body?.['choices']) ?? []).filter(isObject);
    const isOfAll = body === undefined || isFailure(event.event, body);
    let length = isOfAll ? 0 : this.#keepBeside(body);
    if (isOfAll || choices.length === 0) {
      if (this.#choices.size === 0) this.#choice(0);
      for (const { reader, fold } of this.#choices.values())
        length += isOfAll ? fold.add(event) : fold.take(reader.readBody(body));
      return length;
    }
    for (const choice of choices) {
      const index = numberOf(choice['index']) ?? 0;
      if (index >= mostChoices) continue;
      const { reader, fold } = this.#choice(index);
      const alone = choices.length === 1 && index === 0 ? body : { ...body, choices: [{ ...choice, index: 0 }] };
      length += fold.take(reader.readBody(alone));
    }
    return length;
  }

  answer(context: AnswerContext): JsonObject | undefined {
    const written = [...this.#choices]
      .sort(([one], [other]) => one - other)
      .flatMap(([index, { fold }]) => {
        const answer = fold.answer(context);
        return answer === undefined ? [] : [{ index, answer }];
      });
    const first = withBeside(written[0]?.answer, this.#beside);
    if (first === undefined || written.length === 1) return first;
    const choices = written.flatMap(({ index, answer }) =>
      (listOf(answer['choices']) ?? []).filter(isObject).map((choice) => ({ ...choice, index })),
    );
    return { ...first, choices };
  }

  /** The last one of a name counts. Gives by how many characters all of them have grown. */
  #keepBeside(body: JsonObject): number {
    let grown = 0;
    for (const name of Object.keys(body)) {
      if (framing.has(name)) continue;
      const value = body[name];
      const before = this.#beside.get(name);
      if (value === undefined || value === null || value === before?.value) continue;
      if (before === undefined && this.#beside.size >= mostBeside) continue;
      const length = besideLength + name.length + writeJson(value).length;
      this.#beside.set(name, { value, length });
      grown += length - (before?.length ?? 0);
    }
    return grown;
  }

  #choice(index: number): Choice {
    const known = this.#choices.get(index);
    if (known !== undefined) return known;
    const reader = this.#newReader();
    const choice = { reader, fold: new ReadFold(reader, this.#writer, unfinished) };
    this.#choices.set(index, choice);
    return choice;
  }
}

/** Adds the other members of chunks; those that the writer has written stay. */
function withBeside(answer: JsonObject | undefined, beside: ReadonlyMap<string, Beside>): JsonObject | undefined {
  if (answer === undefined || beside.size === 0) return answer;
  const more = [...beside].filter(([name]) => answer[name] === undefined).map(([name, { value }]) => [name, value]);
  return { ...answer, ...Object.fromEntries(more) };
}

/** An answer that was broken off has no reason to finish. */
function unfinished(written: JsonObject): JsonObject {
  const choices = (listOf(written['choices']) ?? []).filter(isObject);
  return { ...written, choices: choices.map((choice) => ({ ...choice, finish_reason: null })) };
}
