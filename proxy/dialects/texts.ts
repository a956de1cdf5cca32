// The texts of a request and an answer, independent of the dialect: they can be read and changed in place.

/** Who says a text. */
export type Role = 'system' | 'user' | 'assistant' | 'tool';

/**
 * `json`: arguments of a tool, as the text of a JSON value. `reasoning`: the thoughts of a model, which may be signed. `aside`: what is told
 * beside the words, such as titles of what is cited, transcripts, code, and what a tool of the provider gave.
 */
export type TextForm = 'text' | 'json' | 'reasoning' | 'aside';

/** One text of a request or of an answer. */
export interface SaidText {
  readonly role: Role;
  readonly form: TextForm;
  /** As it is now. */
  readonly text: string;
}

/** A text in a body that may be changed. */
export interface EditableText extends SaidText {
  /** Puts another text in its place. */
  replace(text: string): void;
  /** Writes a text that may be long in steps, before it is read. Absent: it is there. */
  writing?(): Generator<undefined, void, undefined>;
  /** `replace` in steps. */
  replacing?(text: string): Generator<undefined, void, undefined>;
}

/** Where the words of an operator go in the system prompt. */
export type SystemPlace = 'prepend' | 'append' | 'replace';

/** A parsed request body. Changes are made in the body itself, so that nothing else of it is lost. */
export interface RequestTexts {
  /** In the order of the conversation, as they are now. */
  readonly texts: readonly EditableText[];
  /** The names of the tools that it offers; of one without a name, its type. */
  readonly tools: readonly string[];
  /** How long the answer may be, if the request says it. Tokens. */
  readonly maxTokens: number | undefined;
  /** Gives the number of tokens that the answer may have at most, and lowers budgets of thoughts below it. Returns what had to be left out for that. */
  capTokens(most: number): readonly string[];
  /** Puts words into the system prompt. False: the dialect has none. */
  say(place: SystemPlace, text: string): boolean;
}

/** A parsed answer body. */
export interface AnswerTexts {
  /** In its order. */
  readonly texts: readonly EditableText[];
}

/** One text of an event of a stream. */
export interface StreamedText extends EditableText {
  /** The text of the answer that it belongs to; the same name in all events. */
  readonly channel: string;
}

/** A parsed event of a streamed answer. */
export interface EventTexts {
  /** The next pieces of texts. */
  readonly pieces: readonly StreamedText[];
  /** Texts that are told again as a whole. */
  readonly repeats: readonly StreamedText[];
  /** Texts that come once, each as a whole: what is told beside the answer. */
  readonly wholes: readonly EditableText[];
  /** Whether nothing more comes of a text. */
  ends(channel: string): boolean;
  /** It says nothing but its pieces: without words it may be left out. */
  readonly isPieces: boolean;
}

/** How the events of a dialect tell texts. Bodies are parsed, and changed where they stand. */
export interface StreamTexts<Body> {
  /** `name`: of the event, where the body does not say its type. */
  read(body: Body, name: string | undefined): EventTexts;
  /** The body of another event that says `text`, made after one with a piece of the channel. */
  again(body: Body, channel: string, text: string): Body;
}
