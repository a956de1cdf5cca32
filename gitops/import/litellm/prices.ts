// Prices of LiteLLM, in US dollars for one token, as the configuration has them: for a million tokens, an hour, a request.
import type { TreePiece } from '../source.ts';
import type { Translator } from '../traits.ts';

/** Member of LiteLLM, member of `pricing`, factor. */
const prices: readonly (readonly [string, string, number])[] = [
  ['input_cost_per_token', 'input_per_mtok', 1e6],
  ['output_cost_per_token', 'output_per_mtok', 1e6],
  ['cache_read_input_token_cost', 'cached_input_per_mtok', 1e6],
  ['cache_creation_input_token_cost', 'cache_write_per_mtok', 1e6],
  ['cache_creation_input_token_cost_above_1hr', 'cache_write_1h_per_mtok', 1e6],
  ['input_cost_per_audio_token', 'audio_input_per_mtok', 1e6],
  ['cache_read_input_audio_token_cost', 'cached_audio_input_per_mtok', 1e6],
  ['output_cost_per_audio_token', 'audio_output_per_mtok', 1e6],
  ['output_cost_per_reasoning_token', 'reasoning_per_mtok', 1e6],
  ['input_cost_per_request', 'per_request', 1],
  ['output_cost_per_image', 'per_image', 1],
  ['input_cost_per_character', 'per_million_characters', 1e6],
];

/** Prices of long requests: the number in the name is thousands of tokens. */
const above =
  /^(input_cost_per_token|output_cost_per_token|cache_read_input_token_cost|cache_creation_input_token_cost)_above_(\d+)k_tokens$/;

/** The prices of a deployment, which stand among its parameters or in `model_info`; undefined: it has none. */
export function readPrices(translator: Translator, pieces: readonly TreePiece[]): Record<string, unknown> | undefined {
  const { source } = translator;
  const pricing: Record<string, unknown> = {};
  const long: Record<string, unknown> = {};
  for (const piece of pieces) {
    for (const [member, name, factor] of prices) {
      const cost = source.number(piece, member);
      if (cost !== undefined && isUsable(cost * factor)) pricing[name] ??= scaled(cost, factor);
    }
    for (const member of Object.keys(piece.value)) {
      const [, plain, thousands] = above.exec(member) ?? [];
      const name = prices.find(([known]) => known === plain)?.[1];
      const cost = name === undefined ? undefined : source.number(piece, member);
      if (name === undefined || cost === undefined || !isUsable(cost * 1e6)) continue;
      long['above_tokens'] ??= Number(thousands) * 1000;
      long[name] ??= scaled(cost, 1e6);
    }
  }
  // A price of answers alone says nothing of requests.
  for (const set of [pricing, long])
    if (set['output_per_mtok'] !== undefined && set['input_per_mtok'] === undefined) set['input_per_mtok'] = 0;
  if (Object.keys(long).length > 1) pricing['long_context'] = long;
  return Object.keys(pricing).length === 0 ? undefined : pricing;
}

function isUsable(price: number): boolean {
  return price >= 0 && price <= 1e6;
}

/** Without the last digits, which a multiplication makes: 1.5e-7 becomes 0.15. */
function scaled(cost: number, factor: number): number {
  return Number((cost * factor).toPrecision(10));
}
