// What a scenario is: what each provider does, and what the client must see. Data alone; `play.ts` plays it, `judge.ts` judges what was seen.

/** How a provider is spoken to. */
export type WireName = 'chat' | 'responses' | 'messages' | 'gemini' | 'bedrock';
export type Door = 'chat' | 'responses' | 'messages';

/**
 * How far a stream gets: nothing, its head, its first event without a word (the role), half of its words, all of them, or the finish reason
 * without the event behind it. An answer that is no stream: nothing, its head, half of its bytes.
 */
export type Point = 'nothing' | 'head' | 'role' | 'middle' | 'words' | 'finish';

/** An error as a vendor writes it; a text is the message in the usual envelope of the wire. */
export type ErrorBody = string | object;

/** What a provider does with one request. */
export type Act =
  | 'answers'
  /** Behind what the first provider has said, the rest of that; else its own answer. */
  | 'goes on'
  /** The answer, later. */
  | { readonly waitsMs: number; readonly at: 'nothing' | 'head' | 'role' }
  /** An error with that status. */
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly says?: ErrorBody }
  /** The answer up to a point, and then silence, an end, or an error event. */
  | { readonly until: Point; readonly ending: 'silence' | 'closes' | 'resets' | 'ends' }
  | { readonly until: Point; readonly says: 'error' | 'error beside choices' }
  /** These events instead of the words of a stream, or a body with status 200. */
  | { readonly body: string; readonly type: string }
  /** A whole stream whose finish reason is missing. */
  | { readonly without: 'finish reason' }
  /** An answer in the provider's own words, stream and whole: for finish reasons that are none of success. */
  | { readonly own: { readonly whole: object; readonly events: readonly object[] } }
  /** The answer, with these headers. */
  | { readonly headers: Readonly<Record<string, string>> }
  /** Nothing is reached. */
  | { readonly unreached: 'port' | 'tls' | 'dns' };

/** What a provider does with one request after the other; the last act goes on. */
export type Plan = Act | readonly Act[];

/** An error that is the right one because no provider can answer. */
export interface ToldError {
  readonly status: number;
  /** Undefined: any. */
  readonly code?: string | null;
  /** Seconds, from and to; absent: none may be told. */
  readonly retryAfter?: readonly [least: number, most: number];
}

/** The whole answer; an error; or the answer of the provider with this finish reason, told in the words of the client's dialect. */
export type Sees = 'answer' | ToldError | { readonly finish: 'filtered' };

/** From best to worst; `judge.ts` says what they mean. */
export const grades = ['pass', 'partial', 'safe', 'fail'] as const;
export type Grade = (typeof grades)[number];

/** What it is at least, and why it is not more. */
export interface NoPass {
  readonly grade: Exclude<Grade, 'pass' | 'fail'>;
  readonly why: string;
}

/** Of a stream that broke after its first word. */
export const partOfAnswer: NoPass = {
  grade: 'safe',
  why: 'the client has a part of the answer: it is told that the rest is missing',
};

export interface Scenario {
  readonly name: string;
  /** One of the sixteen that others publish. */
  readonly isPublished?: boolean;
  /** The wire of the first provider; absent: that of the door (native), and another one (translated). */
  readonly wire?: WireName;
  /** Absent: both forms. */
  readonly form?: 'JSON' | 'SSE';
  /** What the first, second … provider does. */
  readonly plans: readonly [Plan, ...Plan[]];
  readonly sees: Sees;
  /** Of the first, second … provider; absent: one of each that is reached. */
  readonly calls?: readonly number[];
  /** How long the client may wait, in milliseconds; absent: `usualMs`. */
  readonly withinMs?: number;
  /** Settings of the alias. */
  readonly alias?: { readonly retry?: object; readonly rescue?: string };
  /** Timeouts of the first provider. */
  readonly timeouts?: Readonly<Record<string, string>>;
  /** The scenario is asked once before, and that is not judged. */
  readonly isSecond?: boolean;
  /** Forms that cannot be a pass. */
  readonly no?: { readonly JSON?: NoPass; readonly SSE?: NoPass };
}

/** How long a client waits at most where no provider is slow, in milliseconds. */
export const usualMs = 1500;
