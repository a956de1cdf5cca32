// Tells limits in the words of Anthropic's API, which its clients read.
import { timestamp } from '../../../domain/timestamp.ts';

/** A header of ours, and its name in Anthropic's API. */
const names: ReadonlyMap<string, string> = new Map(
  ['requests', 'tokens'].flatMap((dimension) =>
    ['limit', 'remaining', 'reset'].map((what) => [
      `x-ratelimit-${what}-${dimension}`,
      `anthropic-ratelimit-${dimension}-${what}`,
    ]),
  ),
);
const milliseconds = /\.\d{3}Z$/;
/** The times that were told last, by their second: under load each is told many times. At most so many are kept. */
const resetTimes = new Map<number, string>();
const mostTimes = 64;

/**
 * The `anthropic-ratelimit-*` headers that say what these `x-ratelimit-*` ones say, names and values in turn; other headers are passed
 * over. `nowSeconds`: since 1970.
 */
export function anthropicLimitHeaders(headers: readonly string[], nowSeconds: number): string[] {
  const told: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = names.get((headers[at] as string).toLowerCase());
    if (name === undefined) continue;
    const value = headers[at + 1] as string;
    told.push(name, name.endsWith('reset') ? resetTime(nowSeconds + Number(value)) : value);
  }
  return told;
}

/** RFC 3339, whole seconds, never before the reset. */
function resetTime(unixSeconds: number): string {
  const second = Math.ceil(unixSeconds);
  const known = resetTimes.get(second);
  if (known !== undefined) return known;
  if (resetTimes.size >= mostTimes) resetTimes.clear();
  const time = timestamp(second * 1000).replace(milliseconds, 'Z');
  resetTimes.set(second, time);
  return time;
}
