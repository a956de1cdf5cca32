// The interface of a dialect: pure functions between its JSON and the conversation, and their errors.

import type { ConversationAnswer, ConversationRequest } from './conversation/conversation.ts';
import type { StreamEvent } from './conversation/stream-event.ts';
import type { ProviderWords } from './dialect.ts';
import type { JsonObject } from './json/json.ts';
import type { ClientDialectName, DialectName } from './names.ts';
import type { Quirks } from './quirks.ts';
import type { CallForms } from './tools/call-forms.ts';

/** The client's body breaks the rules of its dialect: it is refused with 400. */
export class InvalidRequest extends Error {
  /** The member that is wrong: `messages[2].content`. */
  readonly param: string;

  /** `because`: the rest of a sentence that begins with the member: `must be a text`. */
  constructor(param: string, because: string) {
    super(because);
    this.name = 'InvalidRequest';
    this.param = param;
  }
}

/** A provider's answer cannot be understood: 502. */
export class InvalidAnswer extends Error {
  /** `because`: a clause without a subject that could leak: `it has no choices`. */
  constructor(because: string) {
    super(because);
    this.name = 'InvalidAnswer';
  }
}

/**
 * Receives what the target's dialect cannot write. The caller decides: it refuses the request, or leaves the member out
 * and tells the client.
 */
export interface Losses {
  /** Without this the answer means the same: a hint, a label, a cache mark. `field`: its path in the client's dialect (`metadata`). */
  hint(field: string): void;
  /**
   * Without this the answer may be another one. `because`: what the target lacks: `it has no log probabilities`. `place`: where it stands in
   * the client's body, when that says more than the field: `messages[1].content[0]`. May throw.
   */
  meaning(field: string, because: string, place?: string): void;
}

/** The place a translated request goes. */
export interface WriteTarget {
  /** The model's id there. */
  readonly model: string;
  readonly quirks: Quirks;
}

/** The facts that a client's answer needs besides the conversation. */
export interface AnswerContext {
  /** Shown where the provider does not name its model. */
  readonly model: string;
  /** Seconds since 1970. */
  readonly nowSeconds: number;
  /** Random hexadecimal digits, 24 of them, others at each call. */
  readonly newId: () => string;
  readonly request: ConversationRequest;
  /** The client's body, whose settings the Responses format repeats. */
  readonly body: JsonObject;
  /**
   * The request is so long that only its short settings are repeated: the Responses format writes them several times at
   * once.
   */
  readonly isLong?: boolean;
}

/** Writes the events of one answer, in order. */
export interface EventWriter {
  /** Most that it can write: it repeats at once what it has written. Characters of parts; absent: it repeats nothing. */
  readonly mostContent?: number;
  /** The bytes of an event stream as texts, each of which is made when it is asked for; none when the dialect says nothing here. */
  write(event: StreamEvent): Iterable<string>;
}

/** One event of a provider's stream, cut out of its bytes. */
export interface RawEvent {
  /** Its name; undefined where the framing or the provider gives none. */
  readonly event: string | undefined;
  readonly data: string;
}

/** Cuts a stream into its events, wherever its chunks end. */
export interface EventSplitter {
  /** The events that are complete now. Throws an InvalidAnswer when one is longer than 4 MiB, or the framing is broken. */
  push(chunk: Buffer): readonly RawEvent[];
  /** The stream has ended: the event that its last bytes hold without the empty line behind, if it is a complete one. */
  end(): readonly RawEvent[];
}

/** Reads the events of one answer, in order. */
export interface EventReader {
  /** Throws an InvalidAnswer. */
  read(event: RawEvent): readonly StreamEvent[];
  /** The stream has ended: what is still to be told. `finished` only if the provider had said that the answer is complete. */
  end(): readonly StreamEvent[];
}

/** A format that clients speak. */
export interface ClientDialect {
  readonly name: ClientDialectName;
  /** Throws an InvalidRequest. Unknown members become `ownMembers` that are hints. */
  readRequest(body: JsonObject): ConversationRequest;
  /** The request for targets of other dialects, where it says more than the conversation has words for. Throws an InvalidRequest. */
  forOthers?(request: ConversationRequest): ConversationRequest;
  writeAnswer(answer: ConversationAnswer, context: AnswerContext): JsonObject;
  eventWriter(context: AnswerContext): EventWriter;
}

/** A format that providers speak, as far as translation needs it. */
export interface ProviderDialect {
  readonly name: DialectName;
  /** The forms that its inventor's server accepts. */
  readonly callForms: CallForms;
  writeRequest(request: ConversationRequest, target: WriteTarget, losses: Losses): JsonObject;
  /** Throws an InvalidAnswer. */
  readAnswer(body: JsonObject): ConversationAnswer;
  eventReader(): EventReader;
  /** Absent: server-sent events. */
  eventSplitter?(): EventSplitter;
  /** The provider's own words in the text of an error body. */
  readonly readError: (text: string) => ProviderWords;
}
