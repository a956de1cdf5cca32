// The tokens of one answer, and how they are known.

export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** By the provider, or worked out from what passed because it did not say. */
  readonly source: 'reported' | 'estimated';
}

/**
 * Reads a usage object of the OpenAI or Anthropic kind. An explicit zero is a report; what is not a whole number from 0 to 2^53−1
 * is not there. A total that is missing, or 0 beside counts that are not, is the sum; a part that is missing is what the total
 * leaves for it. Undefined when no count is there at all.
 */
export function tokenUsageOf(usage: unknown): TokenUsage | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined;
  const said = usage as Record<string, unknown>;
  const input = count(said['prompt_tokens']) ?? count(said['input_tokens']);
  const output = count(said['completion_tokens']) ?? count(said['output_tokens']);
  const total = count(said['total_tokens']);
  if (input === undefined && output === undefined && total === undefined) return undefined;
  const inputTokens = input ?? Math.max(0, (total ?? 0) - (output ?? 0));
  const outputTokens = output ?? Math.max(0, (total ?? 0) - inputTokens);
  const sum = Math.min(inputTokens + outputTokens, Number.MAX_SAFE_INTEGER);
  return { inputTokens, outputTokens, totalTokens: total || sum, source: 'reported' };
}

function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
