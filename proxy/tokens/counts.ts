// The counts of a usage object, by the names that providers give them.

/** Undefined: not there. What is not a number is not there. */
export interface Counts {
  /** `prompt_tokens`, of OpenAI's kind. What a cache holds of it is in it. */
  readonly prompt: number | undefined;
  /** `input_tokens`, of Anthropic's kind and of OpenAI's Responses. */
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly total: number | undefined;
  /** `cache_read_input_tokens` and `cache_creation_input_tokens`, which Anthropic counts beside the input. */
  readonly cacheRead: number | undefined;
  readonly cacheWrite: number | undefined;
  /** Of Anthropic's cache writes, those that are kept for an hour, which cost more. */
  readonly hourCacheWrite: number | undefined;
  /** Parts of the input: `cached_tokens`, `cache_write_tokens` (OpenRouter, newer OpenAI models), `audio_tokens`, and those that are cached. */
  readonly cached: number | undefined;
  readonly written: number | undefined;
  readonly audioInput: number | undefined;
  readonly cachedAudio: number | undefined;
  /** Parts of the output: `reasoning_tokens`, or Anthropic's `thinking_tokens`, and `audio_tokens`. */
  readonly reasoning: number | undefined;
  readonly audioOutput: number | undefined;
  /** Of a transcript that is billed by its sound (`"type": "duration"`), perhaps a fraction. */
  readonly seconds: number | undefined;
}

/** Counts while they are read. */
export type Reading = { -readonly [Key in keyof Counts]: Counts[Key] };

/** Counts to fill in: every answer has some, and to copy them from others takes longer. */
export function emptyCounts(): Reading {
  return {
    prompt: undefined,
    input: undefined,
    output: undefined,
    total: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
    hourCacheWrite: undefined,
    cached: undefined,
    written: undefined,
    audioInput: undefined,
    cachedAudio: undefined,
    reasoning: undefined,
    audioOutput: undefined,
    seconds: undefined,
  };
}

export const noCounts: Counts = Object.freeze(emptyCounts());

type Said = Readonly<Record<string, unknown>>;

const nothing: Said = {};

/** The counts of an object. OpenAI's realtime and transcripts say `input_token_details` where its other answers say `input_tokens_details`. */
export function countsOf(said: Said): Counts {
  const input = firstObject(said, 'prompt_tokens_details', 'input_tokens_details', 'input_token_details');
  const output = firstObject(said, 'completion_tokens_details', 'output_tokens_details', 'output_token_details');
  return {
    prompt: number(said['prompt_tokens']),
    input: number(said['input_tokens']),
    output: number(said['completion_tokens']) ?? number(said['output_tokens']),
    total: number(said['total_tokens']),
    cacheRead: number(said['cache_read_input_tokens']),
    cacheWrite: number(said['cache_creation_input_tokens']),
    hourCacheWrite: number(firstObject(said, 'cache_creation')['ephemeral_1h_input_tokens']),
    // DeepSeek and Moonshot have names of their own.
    cached: number(input['cached_tokens']) ?? number(said['prompt_cache_hit_tokens']) ?? number(said['cached_tokens']),
    written: number(input['cache_write_tokens']),
    audioInput: number(input['audio_tokens']),
    cachedAudio: number(firstObject(input, 'cached_tokens_details')['audio_tokens']),
    reasoning:
      number(output['reasoning_tokens']) ?? number(output['thinking_tokens']) ?? number(said['reasoning_tokens']),
    audioOutput: number(output['audio_tokens']),
    seconds: number(said['seconds']),
  };
}

/** The first of these members that is an object; an empty one where none is. */
function firstObject(said: Said, ...names: readonly string[]): Said {
  for (const name of names) {
    const value = said[name];
    if (typeof value === 'object' && value !== null) return value as Said;
  }
  return nothing;
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
