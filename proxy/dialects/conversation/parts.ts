// The parts of a turn: what people, models and tools say to one another, in no dialect's words.

import type { JsonObject, JsonValue } from '../json/json.ts';
import type { DialectName } from '../names.ts';

/** Where the bytes of an image, a document or a sound are. */
export type Source =
  | { readonly kind: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string }
  /** A file that the provider keeps; the id means something there alone. */
  | { readonly kind: 'id'; readonly id: string }
  /** A document that is plain text. */
  | { readonly kind: 'text'; readonly text: string };

/** Members that only one dialect has; writers of that dialect write them again, others leave them out. */
export interface Own {
  readonly dialect: DialectName;
  readonly members: JsonObject;
}

/** A mark that the prompt up to here may be cached, with the members its dialect gave it (`{"type":"ephemeral","ttl":"1h"}`). */
export type CacheMark = JsonObject;

interface Marked {
  readonly cacheMark?: CacheMark | undefined;
  readonly own?: Own | undefined;
}

/** A part that some providers cannot accept. */
interface Placed {
  /** Its path in the client's body, for messages: `messages[1].content[0]`. Absent in answers. */
  readonly place?: string | undefined;
}

/** A place that a text refers to. Offsets count characters of the text of the part. */
export interface Citation {
  readonly url?: string | undefined;
  readonly title?: string | undefined;
  readonly citedText?: string | undefined;
  readonly start?: number | undefined;
  readonly end?: number | undefined;
  readonly own?: Own | undefined;
}

export interface TextPart extends Marked {
  readonly kind: 'text';
  readonly text: string;
  readonly citations?: readonly Citation[] | undefined;
  /** Of an answer: one entry per token, as OpenAI writes it (`token`, `logprob`, `bytes`, `top_logprobs`). */
  readonly logprobs?: readonly JsonValue[] | undefined;
}

export interface ImagePart extends Marked, Placed {
  readonly kind: 'image';
  readonly source: Source;
  /** `low`, `high` or `auto`. */
  readonly detail?: string | undefined;
}

/** A document, such as a PDF. */
export interface FilePart extends Marked, Placed {
  readonly kind: 'file';
  readonly source: Source;
  readonly name?: string | undefined;
}

export interface AudioPart extends Marked, Placed {
  readonly kind: 'audio';
  readonly source: Source;
  /** `wav`, `mp3` … */
  readonly format?: string | undefined;
  readonly transcript?: string | undefined;
}

/** A tool that the model wants to have called. */
export interface ToolCallPart extends Marked {
  readonly kind: 'tool_call';
  /** The id to which the result refers. Empty in answers whose provider gives none: the client gets a new one. */
  readonly id: string;
  readonly name: string;
  /** JSON of an object; for a tool that takes free text: that text. */
  readonly input: string;
  readonly isFreeText: boolean;
  readonly signature?: Signature | undefined;
}

/** The result of a tool call. */
export interface ToolResultPart extends Marked {
  readonly kind: 'tool_result';
  readonly callId: string;
  /** Of the tool that was called, where the dialect says it or the conversation shows it. */
  readonly name?: string | undefined;
  readonly content: readonly (TextPart | ImagePart | FilePart | ForeignPart)[];
  readonly isError: boolean;
  /** It is the result of a tool that takes free text. */
  readonly isFreeText: boolean;
}

/** Proof of a provider that its model thought this. It means something to the family that made it alone. */
export interface Signature {
  readonly family: 'anthropic' | 'openai' | 'google';
  readonly value: string;
}

/** The thoughts of a model before its answer. */
export interface ReasoningPart extends Marked {
  readonly kind: 'reasoning';
  /** The thoughts in full; empty when they are hidden. */
  readonly text: string;
  /** Summaries of thoughts that are hidden. */
  readonly summary: readonly string[];
  readonly signature?: Signature | undefined;
  /** The thoughts themselves, readable for the family that made them alone (Anthropic: redacted_thinking; OpenAI: encrypted_content). */
  readonly encrypted?: Signature | undefined;
}

/** Words of a model that declines. */
export interface RefusalPart extends Marked {
  readonly kind: 'refusal';
  readonly text: string;
}

/** A part that only one dialect knows, such as the call of a tool that the provider runs itself. */
export interface ForeignPart extends Placed {
  readonly kind: 'foreign';
  readonly dialect: DialectName;
  /** Its name in the dialect, for messages. */
  readonly name: string;
  readonly value: JsonObject;
}

export type Part =
  | TextPart
  | ImagePart
  | FilePart
  | AudioPart
  | ToolCallPart
  | ToolResultPart
  | ReasoningPart
  | RefusalPart
  | ForeignPart;

/** Where a part stands in the client's body; undefined for kinds that every provider can be told. */
export function placeOf(part: Part): string | undefined {
  return 'place' in part ? part.place : undefined;
}
