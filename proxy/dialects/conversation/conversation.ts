// The one form in which all dialects meet: what is asked of a model, and what it answers. Immutable, and in no dialect's words.
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { ClientDialectName, DialectName } from '../names.ts';
import type { Part, TextPart } from './parts.ts';

/** One speaker's words. Two turns of one role may follow one another; results of tools stand in turns of the user. */
export interface Turn {
  /** `system`: instructions in the middle of a conversation. */
  readonly role: 'user' | 'assistant' | 'system';
  readonly parts: readonly Part[];
  /** Name of the speaker. */
  readonly name?: string | undefined;
}

/** How the calls of a tool look to the client: with a namespace beside the name, or as items of a type of their own. */
export type CalledAs = { readonly namespace: string; readonly name: string } | { readonly item: string };

interface PlacedTool {
  /** Its path in the client's body; absent: its place in `tools` is the same there. */
  readonly place?: string | undefined;
  /** Absent: as calls of a tool of this name. */
  readonly calledAs?: CalledAs | undefined;
}

/** A function that the caller runs. */
export interface FunctionTool extends PlacedTool {
  readonly kind: 'function';
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema of its input; undefined: it takes none. */
  readonly parameters?: JsonObject | undefined;
  readonly strict?: boolean | undefined;
  readonly cacheMark?: JsonObject | undefined;
  /** Further members of its dialect. */
  readonly own?: { readonly dialect: DialectName; readonly members: JsonObject } | undefined;
}

/** A tool that takes free text instead of JSON (OpenAI: `custom`). */
export interface FreeTextTool extends PlacedTool {
  readonly kind: 'free_text';
  readonly name: string;
  readonly description?: string | undefined;
  /** The grammar of the text, as OpenAI writes it. */
  readonly format?: JsonObject | undefined;
}

/** A tool that only one dialect knows: one that the provider runs itself, mostly. */
export interface ForeignTool extends PlacedTool {
  readonly kind: 'foreign';
  readonly dialect: DialectName;
  /** Its type, for messages. */
  readonly name: string;
  readonly value: JsonObject;
}

export type Tool = FunctionTool | FreeTextTool | ForeignTool;

export type ToolChoice =
  | { readonly kind: 'auto' | 'none' | 'required' }
  | { readonly kind: 'tool'; readonly name: string; readonly namespace?: string | undefined };

export type OutputFormat =
  | { readonly kind: 'text' }
  /** Any JSON object. */
  | { readonly kind: 'json' }
  | {
      readonly kind: 'schema';
      readonly name?: string | undefined;
      readonly description?: string | undefined;
      readonly schema: JsonObject;
      readonly strict?: boolean | undefined;
    };

/** How the next token is chosen. */
export interface Sampling {
  readonly temperature?: JsonValue | undefined;
  readonly topP?: JsonValue | undefined;
  readonly topK?: JsonValue | undefined;
  readonly seed?: JsonValue | undefined;
  readonly presencePenalty?: JsonValue | undefined;
  readonly frequencyPenalty?: JsonValue | undefined;
  readonly logitBias?: JsonObject | undefined;
  /** Log probabilities of the answer are asked for; `topLogprobs`: and of so many alternatives. */
  readonly logprobs?: boolean | undefined;
  readonly topLogprobs?: number | undefined;
}

/** How much the model shall think. */
export interface Thinking {
  /** `off`: not at all; `on`: as much as the members below say; `adaptive`: as the model sees fit. Undefined: as is usual for the model. */
  readonly mode?: 'off' | 'on' | 'adaptive' | undefined;
  /** Off, but for the notes that a model of Anthropic's makes between calls of tools (`between_tools`). */
  readonly betweenTools?: true | undefined;
  readonly effort?: 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined;
  /** Most tokens of thoughts. */
  readonly budgetTokens?: number | undefined;
  /** Whether the thoughts are shown, and how, in the dialect's words (`auto`, `concise`, `detailed`; `summarized`, `omitted`). */
  readonly summary?: string | undefined;
}

/** A member of a request that the conversation has no word for. A writer of the same dialect writes it again. */
export interface OwnMember {
  /** Its path from the top of the body: `logit_bias`, `text.verbosity`. */
  readonly path: readonly string[];
  readonly value: JsonValue;
  /** Without it the answer would be another one (`n`, `modalities`): leaving it out is refused, unless the provider's settings say otherwise. */
  readonly isMeaning: boolean;
}

/** A request to a model. The model's name is not part of it: each target has its own. */
export interface ConversationRequest {
  /** The client's dialect; `ownMembers` belong to it. */
  readonly dialect: ClientDialectName;
  /** Instructions before the first turn. */
  readonly system: readonly TextPart[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice | undefined;
  /** Several tools may be called at once; undefined: as is usual. */
  readonly parallelTools?: boolean | undefined;
  readonly output?: OutputFormat | undefined;
  /** `low`, `medium`, `high`: how much is said. */
  readonly verbosity?: string | undefined;
  readonly sampling: Sampling;
  readonly stop: readonly string[];
  /** Most tokens of the answer, thoughts included. */
  readonly maxTokens?: JsonValue | undefined;
  readonly thinking?: Thinking | undefined;
  readonly stream: boolean;
  /** The client asked for the usage of a stream by a member of its own (chat: `stream_options.include_usage`). */
  readonly wantsUsage: boolean;
  /** False: the answer is one of an endpoint that keeps nothing, although the request is in the words of one that does. */
  readonly keepsAnswers?: false | undefined;
  /** The caller's own name for the person who asks. */
  readonly user?: string | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly serviceTier?: string | undefined;
  readonly ownMembers: readonly OwnMember[];
}

/** Tokens, as the conversation counts them: the input includes what was read from and written to a cache, the output includes thoughts. */
export interface ConversationUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Where the provider gives one of its own. */
  readonly totalTokens?: number | undefined;
  readonly cachedTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
  /** Of `cacheWriteTokens`, those that are kept for an hour. */
  readonly hourCacheWriteTokens?: number | undefined;
  readonly reasoningTokens?: number | undefined;
  readonly audioInputTokens?: number | undefined;
  /** Of `cachedTokens` and of `audioInputTokens`. */
  readonly cachedAudioTokens?: number | undefined;
  readonly audioOutputTokens?: number | undefined;
}

/**
 * Why the model stopped. `stop`: it was done; `stop_sequence`: at a text of `stop`; `refusal`: it declines; `filtered`: the provider
 * removed the rest; `paused`: it goes on when asked again with what it said.
 */
export type FinishReason = 'stop' | 'stop_sequence' | 'length' | 'tool_calls' | 'refusal' | 'filtered' | 'paused';

/** How another target told the rest of an answer that broke off: it went on, or began again. */
export type Rescued = 'continue' | 'restart';

export interface Finish {
  readonly reason: FinishReason;
  readonly stopSequence?: string | undefined;
  /** Absent: one target told all of it. */
  readonly rescued?: Rescued | undefined;
}

/** The answer of a model. */
export interface ConversationAnswer {
  /** The provider's id of the answer; empty: it has none. */
  readonly id: string;
  /** The model as the provider names it; empty: it does not. */
  readonly model: string;
  /** Seconds since 1970; undefined: the provider does not say. */
  readonly createdAt?: number | undefined;
  /** Of the assistant. Foreign parts included. */
  readonly parts: readonly Part[];
  readonly finish: Finish;
  readonly usage?: ConversationUsage | undefined;
  readonly serviceTier?: string | undefined;
}
