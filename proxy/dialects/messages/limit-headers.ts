// Tells limits in the words of Anthropic's API, which its clients read.
import { timestamp } from '../../../domain/timestamp.ts';

const dimensions = ['requests', 'tokens'] as const;
const milliseconds = /\.\d{3}Z$/;

/**
 * The `anthropic-ratelimit-*` headers that say what these `x-ratelimit-*` ones say, names and values in turn; other headers are passed
 * over. `nowSeconds`: since 1970.
 */
export function anthropicLimitHeaders(headers: readonly string[], nowSeconds: number): string[] {
  const values = new Map<string, string>();
  for (let at = 0; at + 1 < headers.length; at += 2)
    values.set((headers[at] ?? '').toLowerCase(), headers[at + 1] ?? '');
  const told: string[] = [];
  for (const dimension of dimensions) {
    for (const what of ['limit', 'remaining', 'reset'] as const) {
      const value = values.get(`x-ratelimit-${what}-${dimension}`);
      if (value === undefined) continue;
      const said = what === 'reset' ? resetTime(nowSeconds + Number(value)) : value;
      told.push(`anthropic-ratelimit-${dimension}-${what}`, said);
    }
  }
  return told;
}

/** RFC 3339, whole seconds, never before the reset. */
function resetTime(unixSeconds: number): string {
  return timestamp(Math.ceil(unixSeconds) * 1000).replace(milliseconds, 'Z');
}
