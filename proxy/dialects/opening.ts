// Judges the first events of a provider's stream: no content yet, the beginning of an answer, or an error in place of one.
import type { StreamEvent } from './conversation/stream-event.ts';
import type { ProviderWords } from './dialect.ts';
import { parseJson } from './json/json.ts';
import { ServerEventSplitter } from './server-events.ts';
import { mayNameError } from './stream-secrets.ts';
import { type EventReader, type EventSplitter, InvalidAnswer, type RawEvent } from './translation.ts';

/** How the stream of a provider is read. */
export interface ReadableStream {
  eventReader(): EventReader;
  /** Absent: server-sent events. */
  eventSplitter?(): EventSplitter;
  /** The provider's own words in the text of an error, its secrets still in them. */
  readonly readError: (text: string) => ProviderWords;
}

export class Opening {
  /** The error that came before anything was said. */
  failed: ProviderWords | undefined;
  /** Why no sense can be made of it: a clause in the provider's words, its secrets still in them. */
  problem: string | undefined;
  readonly #splitter: EventSplitter;
  readonly #reader: EventReader;
  readonly #readError: ReadableStream['readError'];
  readonly #isRelayed: boolean;
  #hasBegun = false;
  /** Something of it was read. */
  #isRead = false;

  /** `isRelayed`: its bytes pass as they are, so JSON of an unknown form, or an empty event, counts as the beginning of an answer. */
  constructor(stream: ReadableStream, isRelayed: boolean = false) {
    this.#isRelayed = isRelayed;
    this.#splitter = stream.eventSplitter?.() ?? new ServerEventSplitter();
    this.#reader = stream.eventReader();
    this.#readError = stream.readError;
  }

  /** Nothing has been said, neither words nor an error: the beginning of a message and the role of its speaker are none. */
  get isQuiet(): boolean {
    return !this.#hasBegun && this.failed === undefined && this.problem === undefined;
  }

  /** The next bytes of the stream; they are used only during the call. */
  push(bytes: Buffer): void {
    // Nearly every relayed stream begins so, and need not be read.
    if (this.#isRelayed && !this.#isRead && saysWords(bytes)) this.#hasBegun = true;
    this.#isRead = true;
    this.#read(() => {
      for (const raw of this.#splitter.push(Buffer.from(bytes))) {
        this.#readEvent(raw);
        if (!this.isQuiet) break;
      }
    });
  }

  /** The stream has ended. */
  end(): void {
    this.#read(() => {
      for (const raw of this.#splitter.end()) this.#readEvent(raw);
      this.#take(this.#reader.end(), undefined);
      if (this.isQuiet) this.problem = 'its stream ends before it says anything';
    });
  }

  #read(step: () => void): void {
    if (!this.isQuiet) return;
    try {
      step();
    } catch (error) {
      if (!(error instanceof InvalidAnswer)) throw error;
      if (this.isQuiet) this.problem = error.message;
    }
  }

  #readEvent(raw: RawEvent): void {
    try {
      this.#take(this.#reader.read(raw), raw);
    } catch (error) {
      const mayPass = this.#isRelayed && error instanceof InvalidAnswer && isJsonOrEmpty(raw.data);
      if (!mayPass) throw error;
      this.#hasBegun = true;
    }
  }

  #take(events: readonly StreamEvent[], raw: RawEvent | undefined): void {
    for (const event of events) {
      if (!this.isQuiet) return;
      if (event.kind === 'failed') this.failed = this.#wordsOf(event.failure, raw);
      else this.#hasBegun = saysSomething(event);
    }
  }

  /** An error body says more than an event; where the event is none, what its reader made of it counts. */
  #wordsOf(
    { message, code, type }: Pick<ProviderWords, 'message' | 'code' | 'type'>,
    raw: RawEvent | undefined,
  ): ProviderWords {
    const words = raw && this.#readError(raw.data);
    if (words !== undefined && words.message === message) return words;
    return { message, code, type, param: null, further: {} };
  }
}

const words = /"(?:content|text|reasoning|reasoning_content|arguments|thinking|delta)": ?"[^"]/;
/** The number of bytes that are searched for them. */
const firstBytes = 1024;

function saysWords(bytes: Buffer): boolean {
  return words.test(bytes.toString('latin1', 0, firstBytes)) && !mayNameError(bytes);
}

function saysSomething(event: StreamEvent): boolean {
  if (event.kind === 'opened') return event.part.kind === 'whole' || event.part.kind === 'tool_call';
  if (event.kind === 'delta') return !('text' in event.delta) || event.delta.text !== '';
  return event.kind === 'finished';
}

function isJsonOrEmpty(text: string): boolean {
  try {
    if (text.trim() !== '') parseJson(text);
    return true;
  } catch {
    return false;
  }
}
