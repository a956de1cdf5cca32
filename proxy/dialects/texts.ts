// What a request and an answer say, apart from how a dialect writes it: texts that can be looked at and changed where they stand.

/** Who says a text. */
export type Role = 'system' | 'user' | 'assistant' | 'tool';

/** `json`: arguments of a tool, as the text of a JSON value. `reasoning`: the thoughts of a model, which may be signed. */
export type TextForm = 'text' | 'json' | 'reasoning';

/** One text of a request or of an answer. */
export interface SaidText {
  readonly role: Role;
  readonly form: TextForm;
  /** As it is now. */
  readonly text: string;
}

/** The same, in a body that may be changed. */
export interface EditableText extends SaidText {
  /** Puts another text in its place. */
  replace(text: string): void;
}

/** Where the words of an operator go in the system prompt. */
export type SystemPlace = 'prepend' | 'append' | 'replace';

/** A parsed request body. Changes are made in the body itself, so that nothing else of it is lost. */
export interface RequestTexts {
  /** In the order of the conversation, the system prompt first. */
  readonly texts: readonly EditableText[];
  /** The names of the tools that it offers; of one without a name, its type. */
  readonly tools: readonly string[];
  /** How long the answer may be, if the request says it. Tokens. */
  readonly maxTokens: number | undefined;
  /** Gives the number of tokens that the answer may have at most. */
  capTokens(most: number): void;
  /** Puts words into the system prompt. `texts` of before may miss them. False: the dialect has no system prompt. */
  say(place: SystemPlace, text: string): boolean;
}

/** A parsed answer body. */
export interface AnswerTexts {
  /** In its order. */
  readonly texts: readonly EditableText[];
}
