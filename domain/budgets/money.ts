// US dollars as people write them, and whole nano-dollars, in which sums are exact.
import type { NanoDollars } from '../records/usage.ts';

const nanoPerDollar = 1_000_000_000;

/** The nearest whole number of nano-dollars. */
export function nanoDollarsOf(dollars: number): NanoDollars {
  return Math.round(dollars * nanoPerDollar);
}

export function dollarsOf(nano: NanoDollars): number {
  return nano / nanoPerDollar;
}

/** With six decimals, as the messages about budgets have them: `1.250000`. */
export function sayDollars(nano: NanoDollars): string {
  return dollarsOf(nano).toFixed(6);
}
