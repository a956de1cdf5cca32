// Reads the answer to a translated call as soon as it is there, so that another target is asked when an answer cannot be understood.
import type { Answer } from '../answer.ts';
import type { ConversationAnswer } from '../dialects/conversation/conversation.ts';
import { TooManyValues } from '../dialects/json/read-json.ts';
import { InvalidAnswer } from '../dialects/translation.ts';
import { writtenBody } from '../http/parsed-body.ts';
import { atOnce, inSlices, type Slices, shortBytes } from '../pacing/slices.ts';
import { foldedEvents } from './folded-events.ts';
import { streamOf } from './replay.ts';
import { eventsOf, readAnswer, type Translated, writeAnswer } from './translated.ts';

/** An answer as far as it has come. */
type Come = Pick<Answer, 'complete' | 'stream'> & { readonly head: { readonly heldEvents: boolean } };

export class Reading {
  readonly translated: Translated;
  /** The whole answer; undefined for a stream. */
  answer: ConversationAnswer | undefined;
  /**
   * The whole answer in the client's dialect, where it was long or had to become a stream; undefined: not written yet.
   */
  written: Buffer | undefined;
  /** The outcome of reading a long answer. */
  #outcome: { readonly problem?: string | undefined; readonly error?: unknown } | undefined;

  constructor(translated: Translated) {
    this.translated = translated;
  }

  /**
   * Reads what has come, decoded. Gives why it is of no use, as a clause in the provider's words, secrets included; undefined: it is.
   * `nowMs`: Unix milliseconds.
   */
  begin(come: Come, body: () => Buffer, nowMs: number): string | undefined {
    if (come.stream) return undefined;
    this.#outcome ??= this.#read(come, body(), nowMs);
    if (this.#outcome.error !== undefined) throw this.#outcome.error;
    return this.#outcome.problem;
  }

  /** Reads and writes a long answer before `begin` is asked about it, in steps. */
  async readLong(come: Come, body: Buffer, nowMs: number): Promise<void> {
    try {
      this.#outcome = { problem: await inSlices(this.#translate(come, body, nowMs)) };
    } catch (error) {
      this.#outcome = isUnclear(error) ? { problem: error.message } : { error };
    }
  }

  #read(come: Come, body: Buffer, nowMs: number): { readonly problem?: string | undefined; readonly error?: unknown } {
    try {
      return { problem: atOnce(this.#translate(come, body, nowMs)) };
    } catch (error) {
      return isUnclear(error) ? { problem: error.message } : { error };
    }
  }

  /** Gives why there is nothing to tell. */
  *#translate({ complete, head }: Come, body: Buffer, nowMs: number): Slices<string | undefined> {
    if (!complete) return 'it is too long to be translated';
    const { translated } = this;
    const { request, client } = translated.spoken;
    const isLong = body.length > shortBytes;
    const answer = yield* head.heldEvents ? foldedEvents(body, eventsOf(translated)) : readAnswer(translated, body);
    if (isLong) yield;
    if (isLong || request.stream) {
      const written = yield* writtenBody(writeAnswer(translated, answer, nowMs), isLong);
      this.written = request.stream ? yield* streamOf(client.name, written, request.wantsUsage) : written;
      if (this.written === undefined) return 'it is no stream';
    }
    this.answer = answer;
    return undefined;
  }
}

function isUnclear(error: unknown): error is Error {
  return error instanceof InvalidAnswer || error instanceof TooManyValues;
}
