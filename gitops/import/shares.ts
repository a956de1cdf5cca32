// Shares of targets as the configuration has them: whole numbers, as small as they can be.

/** The largest weight of a target. */
const mostWeight = 1_000_000;

/** The most digits behind the point that are kept exactly. */
const mostDigits = 4;

/** The smallest whole numbers in the same proportion; of shares with many digits, as far as a thousandth of the largest. */
export function wholeShares(shares: readonly number[]): number[] {
  const most = Math.max(...shares);
  const scales = Array.from({ length: mostDigits + 1 }, (_, digits) => 10 ** digits);
  const isWhole = (value: number): boolean => Math.abs(value - Math.round(value)) < 1e-9;
  const exact = scales.find((scale) => most * scale <= mostWeight && shares.every((share) => isWhole(share * scale)));
  const scale = exact ?? 1000 / most;
  const whole = shares.map((share) => Math.max(1, Math.round(share * scale)));
  const divisor = whole.reduce(greatestDivisor, 0);
  return whole.map((share) => share / divisor);
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}
