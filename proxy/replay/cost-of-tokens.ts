// What recorded tokens cost at a target, in US dollars.
import { costOf } from '../../domain/prices/cost.ts';
import type { Price } from '../../domain/prices/price.ts';
import type { TrafficTokens } from '../../domain/records/traffic.ts';

const nanoPerDollar = 1e9;

/** Null: there is no price for what was used. */
export function dollarsOfTokens(tokens: TrafficTokens, price: Price | undefined): number | null {
  if (price === undefined) return null;
  const { input, output, cached = 0, cache_write: written = 0 } = tokens;
  const counts = {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    cached_input_tokens: cached,
    cache_write_input_tokens: written,
  };
  const cost = costOf(counts, price);
  return cost === null ? null : cost.total / nanoPerDollar;
}

/** Whole nano-dollars. */
export function nanoOf(dollars: number): number {
  return Math.round(dollars * nanoPerDollar);
}

const texts = new WeakMap<Price, string>();

export function isSamePrice(one: Price | undefined, other: Price | undefined): boolean {
  return one === other || (one !== undefined && other !== undefined && textOf(one) === textOf(other));
}

function textOf(price: Price): string {
  let text = texts.get(price);
  if (text === undefined) {
    text = JSON.stringify(price);
    texts.set(price, text);
  }
  return text;
}
