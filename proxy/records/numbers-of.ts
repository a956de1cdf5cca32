// The numbers of a call that an audit entry shows: how much it asked for, and how warm.
import { spells } from '../bytes/spells.ts';
import type { Call } from '../call/call.ts';

/** By their length; what the dialects call the longest answer. */
const names = ['max_tokens', 'temperature', 'max_output_tokens', 'max_completion_tokens'];
/** Longer ones are no usual numbers. Bytes. */
const longestNumber = 24;

/** What is no number is not there. */
export function numbersOf({ body, members }: Pick<Call, 'body' | 'members'>): {
  readonly max_tokens?: number;
  readonly temperature?: number;
} {
  let most: number | undefined;
  let temperature: number | undefined;
  for (const { keyStart, keyEnd, valueStart, valueEnd } of members) {
    const name = names.find((each) => each.length === keyEnd - keyStart && spells(body, keyStart, each));
    if (name === undefined || valueEnd - valueStart > longestNumber) continue;
    const number = Number(body.toString('latin1', valueStart, valueEnd));
    if (!Number.isFinite(number)) continue;
    if (name === 'temperature') temperature = number;
    else most = number;
  }
  if (most === undefined && temperature === undefined) return {};
  return { ...(most === undefined ? {} : { max_tokens: most }), ...(temperature === undefined ? {} : { temperature }) };
}
