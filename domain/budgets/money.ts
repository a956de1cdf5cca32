// US dollars as people write them, and whole nano-dollars, in which sums are exact.
import type { NanoDollars } from '../records/usage.ts';

const nanoPerDollar = 1_000_000_000;

/** The nearest whole number of nano-dollars. */
export function nanoDollarsOf(dollars: number): NanoDollars {
  return Math.round(dollars * nanoPerDollar);
}

/** US dollars, rounded to the nearest double. */
export function dollarsOf(nano: NanoDollars): number {
  return nano / nanoPerDollar;
}

/** US dollars with six decimals, as in messages about budgets: `1.250000`. */
export function sayDollars(nano: NanoDollars): string {
  return dollarsOf(nano).toFixed(6);
}
