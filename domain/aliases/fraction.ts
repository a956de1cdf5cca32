// Exact shares: fractions of whole numbers of any size. Pure.

/** Not negative, in lowest terms. */
export interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}

/** The share 0. */
export const none: Fraction = { over: 0n, under: 1n };
export const whole: Fraction = { over: 1n, under: 1n };

/**
 * The fraction `over / under` in lowest terms; both not negative, `under` above 0. Throws a RangeError when both are 0.
 */
export function fraction(over: bigint, under: bigint): Fraction {
  const factor = greatestFactor(over, under);
  return { over: over / factor, under: under / factor };
}

/** The sum of two shares, in lowest terms. */
export function sum(a: Fraction, b: Fraction): Fraction {
  return fraction(a.over * b.under + b.over * a.under, a.under * b.under);
}

/** The product of two shares, in lowest terms. */
export function product(a: Fraction, b: Fraction): Fraction {
  return fraction(a.over * b.over, a.under * b.under);
}

/**
 * The largest number that `wholeNumbers` returns. Larger ones are scaled down; the error of a share is then below
 * 10^-12.
 */
const largest = 2n ** 40n;

/** The smallest whole numbers in the ratios of the shares, at most 2^40. A share above 0 stays at least 1. */
export function wholeNumbers(shares: readonly Fraction[]): number[] {
  let multiple = 1n;
  for (const { under } of shares) multiple = (multiple / greatestFactor(multiple, under)) * under;
  const numbers = shares.map(({ over, under }) => (over * multiple) / under);
  let factor = 0n;
  let most = 0n;
  for (const number of numbers) {
    factor = greatestFactor(number, factor);
    if (number > most) most = number;
  }
  if (factor === 0n) return numbers.map(() => 0);
  if (most / factor <= largest) return numbers.map((number) => Number(number / factor));
  return numbers.map((number) => (number === 0n ? 0 : Math.max(1, Number((number * largest) / most))));
}

/** The greatest common divisor. */
function greatestFactor(a: bigint, b: bigint): bigint {
  let [larger, smaller] = [a, b];
  while (smaller !== 0n) [larger, smaller] = [smaller, larger % smaller];
  return larger;
}
