// Costs as readers see them: nano-dollars in US dollars, exactly.
import type { NanoDollars } from './usage.ts';

/**
 * As a number, for JSON. A division is rounded to the nearest number, and JSON writes the shortest decimal that means this number: that is
 * the decimal with at most nine places that the nano-dollars are, up to 2^23 dollars (8.3 million; beyond, to two nano-dollars).
 * Null stays null: unknown.
 */
export function dollars(cost: NanoDollars | null): number | null {
  return cost === null ? null : cost / 1e9;
}

/** As decimal digits without an exponent, for tables: `0.0000025`. Exact for every whole number of nano-dollars. Null stays null. */
export function dollarText(cost: NanoDollars | null): string | null {
  if (cost === null) return null;
  const digits = String(Math.abs(cost)).padStart(10, '0');
  const places = digits.slice(-9).replace(/0+$/, '');
  return `${cost < 0 ? '-' : ''}${digits.slice(0, -9)}${places === '' ? '' : `.${places}`}`;
}
