// Reads the answer to a translated call as soon as it is there, so that another target is asked when an answer cannot be understood.
import type { Answer } from '../answer.ts';
import type { ConversationAnswer } from '../dialects/conversation/conversation.ts';
import { TooManyValues } from '../dialects/read-json.ts';
import { InvalidAnswer } from '../dialects/translation.ts';
import { writtenBody } from '../parsed-body.ts';
import { atOnce, inSlices, type Slices } from '../slices.ts';
import { readAnswer, type Translated, writeAnswer } from './translated.ts';

/** An answer as far as it has come. */
type Come = Pick<Answer, 'complete' | 'stream'>;

export class Reading {
  readonly translated: Translated;
  /** What a whole answer says; undefined: it streams. */
  answer: ConversationAnswer | undefined;
  /** The same in the client's dialect, where it was long; undefined: it was not written yet. */
  written: Buffer | undefined;
  readonly #isStream: boolean;
  /** What has come of reading a long answer. */
  #outcome: { readonly problem?: string | undefined; readonly error?: unknown } | undefined;

  /** `isStream`: a stream was asked for. */
  constructor(translated: Translated, isStream: boolean) {
    this.translated = translated;
    this.#isStream = isStream;
  }

  /** Reads what has come, decoded. Gives why it is of no use, as a clause in the provider's words, secrets included; undefined: it is. */
  begin(come: Come, body: () => Buffer): string | undefined {
    if (this.#outcome === undefined) return this.#oddIn(come) ?? this.#understood(come.stream, body());
    if (this.#outcome.error !== undefined) throw this.#outcome.error;
    return this.#outcome.problem;
  }

  /** Reads and writes a long answer before `begin` is asked about it, in steps. `nowMs`: Unix milliseconds. */
  async readLong(come: Come, body: Buffer, nowMs: number): Promise<void> {
    try {
      const problem = this.#oddIn(come);
      if (problem === undefined) await inSlices(this.#translate(body, nowMs));
      this.#outcome = { problem };
    } catch (error) {
      this.#outcome = isUnclear(error) ? { problem: error.message } : { error };
    }
  }

  #oddIn({ complete, stream }: Come): string | undefined {
    if (stream !== this.#isStream) return stream ? 'it is a stream' : 'it is no stream';
    return stream || complete ? undefined : 'it is too long to be translated';
  }

  #understood(isStream: boolean, body: Buffer): string | undefined {
    try {
      if (isStream) return undefined;
      this.answer = atOnce(readAnswer(this.translated, body));
      return undefined;
    } catch (error) {
      if (isUnclear(error)) return error.message;
      throw error;
    }
  }

  *#translate(body: Buffer, nowMs: number): Slices<void> {
    const answer = yield* readAnswer(this.translated, body);
    yield;
    this.written = yield* writtenBody(writeAnswer(this.translated, answer, nowMs), true);
    this.answer = answer;
  }
}

function isUnclear(error: unknown): error is Error {
  return error instanceof InvalidAnswer || error instanceof TooManyValues;
}
