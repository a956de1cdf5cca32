// Computes the cost of the use of a model from its price.
import type { Cost, UsageCounts } from '../records/usage.ts';
import type { Price, TokenRates } from './price.ts';

/** Nano-dollars per token at a rate of 1 dollar per million tokens. */
const nanoPerToken = 1e3;
const nanoPerDollar = 1e9;
const secondsPerHour = 3600;
const perMillion = 1e6;

/**
 * The cost of `counts` in whole nano-dollars, each side rounded once (spec: What the service does 8). A part of the
 * input or output has its own rate, or that of its whole. Seconds of heard audio count as input; spoken characters,
 * made images and the fee of a request as output. Of two measures of one thing, such as images that are also counted in
 * tokens, one price suffices. Null: something was used that has no price. 0: it was free, or nothing was used. Does not
 * throw.
 */
export function costOf(counts: UsageCounts, price: Price): Cost | null {
  const fee = feeOf(price);
  if (fee !== null) return fee;
  const { audio_seconds: seconds = 0, characters = 0, images = 0 } = counts;
  const { longContext } = price;
  const rates =
    longContext !== undefined && counts.input_tokens > longContext.aboveTokens ? longContext.tokens : price.tokens;
  const isInTokens = counts.input_tokens > 0 || counts.output_tokens > 0;
  const heard = unitNano(seconds / secondsPerHour, price.perHour, isInTokens);
  const spoken = unitNano(characters / perMillion, price.perMillionCharacters, isInTokens);
  const made = unitNano(images, price.perImage, isInTokens);
  const read = inputNano(counts, rates);
  const said = outputNano(counts, rates);
  const input = Math.round(read + heard);
  const output = Math.round(said + spoken + made + nanoPerDollar * (price.perRequest ?? 0));
  return Number.isNaN(input) || Number.isNaN(output) ? null : { input, output, total: input + output };
}

/** The fixed cost of a request in nano-dollars, when the price is a fee only; null when the cost depends on the use. */
export function feeOf({
  tokens,
  longContext,
  perRequest,
  perImage,
  perHour,
  perMillionCharacters,
}: Price): Cost | null {
  if (perRequest === undefined) return null;
  const rates = [perImage, perHour, perMillionCharacters, ...Object.values({ ...tokens, ...longContext?.tokens })];
  if (rates.some((rate) => rate !== undefined && rate > 0)) return null;
  const output = Math.round(nanoPerDollar * perRequest);
  return { input: 0, output, total: output };
}

/** In nano-dollars; NaN when the amount has no price and no other measure. */
function unitNano(amount: number, rate: number | undefined, isInTokens: boolean): number {
  if (amount === 0) return 0;
  if (rate === undefined) return isInTokens ? 0 : Number.NaN;
  return nanoPerDollar * rate * amount;
}

/**
 * In nano-dollars. A part that is both cached and audio is priced once; where its size is not reported, the smallest
 * possible size is taken.
 */
function inputNano(counts: UsageCounts, rates: TokenRates): number {
  const { input_tokens: all, cached_input_tokens: cached = 0, audio_input_tokens: audio = 0 } = counts;
  const { cache_write_input_tokens: written = 0, cache_write_1h_input_tokens: writtenForHour = 0 } = counts;
  const { cached_audio_input_tokens: cachedAudio = Math.max(0, cached + audio - all) } = counts;
  const other = Math.max(0, all - cached - written);
  const heard = Math.min(other, audio - cachedAudio);
  const { input, cachedInput = input, cacheWrite = input } = rates;
  const { hourCacheWrite = cacheWrite, audioInput = input, cachedAudioInput = cachedInput } = rates;
  return (
    tokenNano(other - heard, input) +
    tokenNano(heard, audioInput) +
    tokenNano(cached - cachedAudio, cachedInput) +
    tokenNano(cachedAudio, cachedAudioInput) +
    tokenNano(written - writtenForHour, cacheWrite) +
    tokenNano(writtenForHour, hourCacheWrite)
  );
}

/** In nano-dollars. Reasoning tokens are never audio tokens. */
function outputNano(counts: UsageCounts, rates: TokenRates): number {
  const { output_tokens: all, audio_output_tokens: audio = 0, reasoning_tokens: reasoning = 0 } = counts;
  const thought = Math.min(reasoning, all - audio);
  const { output, audioOutput = output, reasoning: reasoningRate = output } = rates;
  return tokenNano(all - audio - thought, output) + tokenNano(audio, audioOutput) + tokenNano(thought, reasoningRate);
}

/** In nano-dollars; NaN when the tokens have no price. */
function tokenNano(tokens: number, rate: number | undefined): number {
  if (tokens === 0) return 0;
  return rate === undefined ? Number.NaN : nanoPerToken * rate * tokens;
}
