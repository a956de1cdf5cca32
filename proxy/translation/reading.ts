// Reads the answer to a translated call as soon as it is there, so that another target is asked when an answer cannot be understood.
import type { Answer } from '../answer.ts';
import type { ConversationAnswer } from '../dialects/conversation/conversation.ts';
import { ServerEventSplitter } from '../dialects/server-events.ts';
import { InvalidAnswer } from '../dialects/translation.ts';
import { readAnswer, type Translated } from './translated.ts';

export class Reading {
  readonly translated: Translated;
  /** What a whole answer says; undefined: it streams. */
  answer: ConversationAnswer | undefined;
  readonly #isStream: boolean;

  /** `isStream`: a stream was asked for. */
  constructor(translated: Translated, isStream: boolean) {
    this.translated = translated;
    this.#isStream = isStream;
  }

  /** Reads what has come, decoded. Gives why it is of no use, as a clause in the provider's words, secrets included; undefined: it is. */
  begin({ complete, stream }: Pick<Answer, 'complete' | 'stream'>, body: Buffer): string | undefined {
    if (stream !== this.#isStream) return stream ? 'it is a stream' : 'it is no stream';
    if (!stream && !complete) return 'it is too long to be translated';
    try {
      if (stream) return this.#firstWords(body);
      this.answer = readAnswer(this.translated, body);
      return undefined;
    } catch (error) {
      if (error instanceof InvalidAnswer) return error.message;
      throw error;
    }
  }

  /** A stream whose first event is a failure. */
  #firstWords(body: Buffer): string | undefined {
    const { dialect } = this.translated;
    const splitter = dialect.eventSplitter?.() ?? new ServerEventSplitter();
    const reader = dialect.eventReader();
    for (const event of splitter.push(Buffer.from(body)).flatMap((raw) => reader.read(raw))) {
      if (event.kind === 'failed') return `its first event is an error: ${event.failure.message}`;
      if (event.kind === 'opened') return undefined;
    }
    return undefined;
  }
}
