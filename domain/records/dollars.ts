// Costs as readers see them: nano-dollars in US dollars, exactly.
import type { NanoDollars } from './usage.ts';

/**
 * US dollars as a number, for JSON. The nearest double of the exact decimal, so JSON shows that decimal with at most
 * nine places up to 2^23 dollars (8.3 million; beyond, to two nano-dollars). Null (unknown) stays null.
 */
export function dollars(cost: NanoDollars | null): number | null {
  return cost === null ? null : cost / 1e9;
}

/**
 * US dollars as decimal digits without an exponent, for tables: `0.0000025`. Exact for every whole number of
 * nano-dollars. Null (unknown) stays null.
 */
export function dollarText(cost: NanoDollars | null): string | null {
  if (cost === null) return null;
  const digits = String(Math.abs(cost)).padStart(10, '0');
  const places = digits.slice(-9).replace(/0+$/, '');
  return `${cost < 0 ? '-' : ''}${digits.slice(0, -9)}${places === '' ? '' : `.${places}`}`;
}
