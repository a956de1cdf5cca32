// The arithmetic of a comparison: ratios of pairs measured one right after the other, and how sure their mean is.

/** What two contenders cost in one pair of slices, in the same unit. */
export interface Pair {
  readonly before: number;
  readonly after: number;
}

/** A ratio (after / before), and the interval that holds the true one in 95 of 100 comparisons. */
export interface Ratio {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

/** What may be said of a ratio of costs. */
export type Word = 'better' | 'worse' | 'same' | 'cannot tell';

// A stall of the machine falls into single slices: the outermost fifth of the pairs on either side is not trusted.
const TRIMMED_SHARE = 0.2;
// A whole interval this close to 1 is no difference anybody would notice.
const SAME_SHARE = 0.03;

/** The middle value; the mean of the two middle ones for an even count. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The value that so great a share of all lies below (`share` from 0 to 1), between two neighbours in proportion. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const [below = Number.NaN, above = below] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return below + (above - below) * (at - Math.floor(at));
}

/** The trimmed mean of the logarithms of all ratios, with Yuen's interval for trimmed means. Three pairs at least. */
export function ratioOf(pairs: readonly Pair[]): Ratio {
  const logs = pairs.map(({ before, after }) => Math.log(after / before)).toSorted((a, b) => a - b);
  const cut = Math.floor(logs.length * TRIMMED_SHARE);
  const kept = logs.slice(cut, logs.length - cut);
  const middle = mean(kept);
  const [least = 0, most = 0] = [kept[0], kept.at(-1)];
  const winsorized = logs.map((log) => Math.min(most, Math.max(least, log)));
  const error = deviation(winsorized) / ((kept.length / logs.length) * Math.sqrt(logs.length));
  const reach = studentT(kept.length - 1) * error;
  return { ratio: Math.exp(middle), low: Math.exp(middle - reach), high: Math.exp(middle + reach) };
}

/** The ratio of all pairs together. What a process keeps for life differs by launch: when the launches lie further apart
 *  than their pairs explain, the interval is that of the launches (three at least). */
export function ratioOfLaunches(launches: readonly (readonly Pair[])[]): Ratio {
  const { ratio, low, high } = ratioOf(launches.flat());
  if (launches.length < 3) return { ratio, low, high };
  const logs = launches.map((pairs) => Math.log(ratioOf(pairs).ratio));
  const reach = (studentT(logs.length - 1) * deviation(logs)) / Math.sqrt(logs.length);
  return { ratio, low: Math.min(low, ratio * Math.exp(-reach)), high: Math.max(high, ratio * Math.exp(reach)) };
}

/** A difference is one when the interval excludes 1; `same` needs the whole interval within 3 % of 1. */
export function wordFor({ low, high }: Ratio): Word {
  if (high < 1) return 'better';
  if (low > 1) return 'worse';
  return low >= 1 - SAME_SHARE && high <= 1 + SAME_SHARE ? 'same' : 'cannot tell';
}

/** The 97.5 % quantile of Student's t: exact for 1 and 2 degrees of freedom, Cornish and Fisher's series beyond. */
export function studentT(freedom: number): number {
  if (freedom < 1) return Number.POSITIVE_INFINITY;
  if (freedom === 1) return 12.706;
  if (freedom === 2) return 4.303;
  const z = 1.959964;
  const terms = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
  ];
  return terms.reduce((sum, term, index) => sum + term / freedom ** (index + 1), z);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function deviation(values: readonly number[]): number {
  const middle = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
}
