// The compiled price of a model.
import type { Pricing } from '../../schemas/types.ts';

/** US dollars per million tokens. Undefined: there is no such price. */
export interface TokenRates {
  readonly input: number | undefined;
  readonly output: number | undefined;
  /** Undefined, here and below: as `input`, `cachedInput`, `cacheWrite` or `output`. */
  readonly cachedInput: number | undefined;
  readonly cacheWrite: number | undefined;
  readonly hourCacheWrite: number | undefined;
  readonly audioInput: number | undefined;
  readonly cachedAudioInput: number | undefined;
  readonly audioOutput: number | undefined;
  readonly reasoning: number | undefined;
}

export interface Price {
  readonly tokens: TokenRates;
  /** The rates of requests with more than `aboveTokens` tokens of input; undefined: the same rates for all. */
  readonly longContext: { readonly aboveTokens: number; readonly tokens: TokenRates } | undefined;
  /** US dollars: for each request, image, hour of sound, and million characters. Undefined: there is no such price, and no fee. */
  readonly perRequest: number | undefined;
  readonly perImage: number | undefined;
  readonly perHour: number | undefined;
  readonly perMillionCharacters: number | undefined;
  /** The share of the price that a request in a batch costs, 0 to 1; undefined: unknown. */
  readonly batchShare?: number | undefined;
}

/** Compiles the price of a model from the configuration. Frozen. */
export function priceOf(pricing: Pricing): Price {
  const { long_context: long } = pricing;
  return Object.freeze({
    tokens: ratesOf(pricing),
    longContext: long && Object.freeze({ aboveTokens: long.above_tokens, tokens: ratesOf(long) }),
    perRequest: pricing.per_request,
    perImage: pricing.per_image,
    perHour: pricing.per_hour,
    perMillionCharacters: pricing.per_million_characters,
    batchShare: pricing.batch_share,
  });
}

function ratesOf(pricing: Omit<Pricing, 'long_context'>): TokenRates {
  return Object.freeze({
    input: pricing.input_per_mtok,
    output: pricing.output_per_mtok,
    cachedInput: pricing.cached_input_per_mtok,
    cacheWrite: pricing.cache_write_per_mtok,
    hourCacheWrite: pricing.cache_write_1h_per_mtok,
    audioInput: pricing.audio_input_per_mtok,
    cachedAudioInput: pricing.cached_audio_input_per_mtok,
    audioOutput: pricing.audio_output_per_mtok,
    reasoning: pricing.reasoning_per_mtok,
  });
}
