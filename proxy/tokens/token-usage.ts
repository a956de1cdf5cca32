// The tokens of one answer, and how they are known.

export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** By the provider, or worked out from what passed because it did not say. */
  readonly source: 'reported' | 'estimated';
}

/** What knows the tokens of an answer when it is over. */
export interface UsageSource {
  /** Undefined: nothing came, or tokens are not counted. */
  usage(): TokenUsage | undefined;
}

/** No request costs more: the longest contexts are a tenth of it. A larger count is a mistake, and would close a consumer's windows for days. */
const mostTokens = 10_000_000;

/**
 * Reads a usage object of the OpenAI or Anthropic kind; of the latter, what was read from and written to a cache is input, too. An explicit
 * zero is a report; what is no number is not there. A total that is missing, or 0 beside counts that are not, is the sum; a part that is
 * missing is what the total leaves for it. Undefined when no count is there at all, and when one is absurd: negative, a fraction, or all in
 * all more than ten million.
 */
export function tokenUsageOf(usage: unknown): TokenUsage | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined;
  const said = usage as Record<string, unknown>;
  return tokenUsageFrom(countsOf(said));
}

/** The counts of a usage object; undefined: not there. */
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
}

/** The counts of an object. */
export function countsOf(said: Readonly<Record<string, unknown>>): Counts {
  return {
    prompt: number(said['prompt_tokens']),
    input: number(said['input_tokens']),
    output: number(said['completion_tokens']) ?? number(said['output_tokens']),
    total: number(said['total_tokens']),
    cacheRead: number(said['cache_read_input_tokens']),
    cacheWrite: number(said['cache_creation_input_tokens']),
  };
}

/** The same of its counts. */
export function tokenUsageFrom(counts: Counts): TokenUsage | undefined {
  const { output, total } = counts;
  const input = inputOf(counts);
  if (input === undefined && output === undefined && total === undefined) return undefined;
  if (!isSane(input) || !isSane(output) || !isSane(total)) return undefined;
  const inputTokens = input ?? Math.max(0, (total ?? 0) - (output ?? 0));
  const outputTokens = output ?? Math.max(0, (total ?? 0) - inputTokens);
  const sum = inputTokens + outputTokens;
  return sum > mostTokens ? undefined : { inputTokens, outputTokens, totalTokens: total || sum, source: 'reported' };
}

/** Anthropic alone gives no total, and counts what its cache holds beside the input. */
function inputOf({ prompt, input, total, cacheRead, cacheWrite }: Counts): number | undefined {
  if (prompt !== undefined || total !== undefined) return prompt ?? input;
  if (cacheRead === undefined && cacheWrite === undefined) return input;
  // Of absurd ones the sum would hide it.
  if (!isSane(input) || !isSane(cacheRead) || !isSane(cacheWrite)) return Number.NaN;
  return (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0);
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function isSane(count: number | undefined): boolean {
  return count === undefined || (Number.isInteger(count) && count >= 0 && count <= mostTokens);
}
