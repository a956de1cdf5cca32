// What an attempt used, in the words of a record, and what that costs at the price of its target.
import type { AttemptUsage } from '../../schemas/records/usage.ts';
import type { TokenPrice } from '../snapshot/snapshot.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';

/** Nano-dollars per token, of US dollars per million tokens. */
const nanoPerToken = 1_000;
const free = Object.freeze({ input: 0, output: 0, total: 0 });
const nothing: AttemptUsage = Object.freeze({
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  source: 'estimated',
  cost: free,
});

/** `usage` undefined: nothing came. `price` undefined: it is unknown. */
export function attemptUsage(usage: TokenUsage | undefined, price: TokenPrice | undefined): AttemptUsage {
  if (usage === undefined) return nothing;
  const { inputTokens, outputTokens, totalTokens, source } = usage;
  const counts = { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: totalTokens, source };
  if (price === undefined) return { ...counts, cost: null };
  const input = Math.round(inputTokens * price.inputPerMtok * nanoPerToken);
  const output = Math.round(outputTokens * price.outputPerMtok * nanoPerToken);
  return { ...counts, cost: { input, output, total: input + output } };
}
