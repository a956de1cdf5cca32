// Puts texts back into an answer, behind all guardrails and behind the record: the masked values of its request, and its own system
// prompt where an answer repeats that.
import type { EditableObject } from '../dialects/editing.ts';
import type { JsonValue } from '../dialects/json/json.ts';
import type { EditableText, TextForm } from '../dialects/texts.ts';
import { followed, type Slices, sliced } from '../pacing/slices.ts';
import { Chain } from './chain.ts';
import { type Flow, settled } from './flow.ts';
import type { CheckContext } from './guardrail.ts';
import { type Unmasking, unmasking } from './kinds/unmask.ts';

/** The system prompt of the client, and the member of answers that repeats it. */
export interface Repeated {
  readonly repeats: string;
  readonly said: JsonValue;
}

export class PutBack {
  readonly #context: CheckContext;
  readonly #repeated: Repeated | undefined;

  constructor(context: CheckContext, repeated: Repeated | undefined) {
    this.#context = context;
    this.#repeated = repeated;
  }

  /** Of a text of a streamed answer. */
  chain(form: TextForm): Chain {
    const own = unmasking(form, this.#context);
    if (own === undefined) return new Chain([]);
    const push = (text: string) => followed(sliced(text.length, pushed(text, own)), (told) => ({ text: told }));
    return new Chain([{ check: { push, end: () => own.end() }, take: ({ text }) => text }]);
  }

  /** Changes texts where they stand. False: they are as they were. Nothing waits where they are short. */
  *onTexts(texts: readonly EditableText[]): Flow<boolean> {
    const length = texts.reduce((sum, { text }) => sum + text.length, 0);
    return yield* settled(sliced(length, this.#inTexts(texts)));
  }

  *#inTexts(texts: readonly EditableText[]): Slices<boolean> {
    let isChanged = false;
    let read = 0;
    for (const text of texts) {
      const check = unmasking(text.form, this.#context);
      if (check === undefined) continue;
      const told = yield* unmasked(text.text, check);
      read += told.length;
      if (read > stepLength) {
        read = 0;
        yield;
      }
      if (told === text.text) continue;
      text.replace(told);
      isChanged = true;
    }
    return isChanged;
  }

  /** Where an answer repeats the system prompt, it repeats that of the client. False: it does not. */
  repeatAsked(answer: EditableObject | undefined): boolean {
    if (answer === undefined || this.#repeated === undefined) return false;
    const { repeats, said } = this.#repeated;
    if (answer[repeats] === undefined || answer[repeats] === said) return false;
    answer[repeats] = said;
    return true;
  }
}

/** The number of characters that are searched in one step. */
const stepLength = 64 * 1024;

function* unmasked(text: string, check: Unmasking): Slices<string> {
  return (yield* pushed(text, check)) + check.end().text;
}

function* pushed(text: string, check: Unmasking): Slices<string> {
  let told = '';
  for (let from = 0; from < text.length; from += stepLength) {
    told += check.push(text.slice(from, from + stepLength)).text;
    if (from + stepLength < text.length) yield;
  }
  return told;
}
