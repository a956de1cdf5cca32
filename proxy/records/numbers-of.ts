// The numbers of a call that an audit entry shows: how much it asked for, and how warm.
import { spells } from '../bytes/spells.ts';
import type { Call } from '../call/call.ts';

/** Longer ones are no usual numbers. Bytes. */
const longestNumber = 24;

/** A member whose value is no number is left out. */
export function numbersOf({ body, members }: Pick<Call, 'body' | 'members'>): {
  readonly max_tokens?: number;
  readonly temperature?: number;
} {
  const numbers: { max_tokens?: number; temperature?: number } = {};
  for (const { keyStart, keyEnd, valueStart, valueEnd } of members) {
    const name = nameOf(keyEnd - keyStart);
    if (name === undefined || valueEnd - valueStart > longestNumber || !spells(body, keyStart, name)) continue;
    const number = Number(body.toString('latin1', valueStart, valueEnd));
    if (!Number.isFinite(number)) continue;
    if (name === 'temperature') numbers.temperature = number;
    else numbers.max_tokens = number;
  }
  return numbers;
}

/** The names by which the dialects ask for the longest answer and the temperature. No two have the same length. */
function nameOf(length: number): string | undefined {
  switch (length) {
    case 10:
      return 'max_tokens';
    case 11:
      return 'temperature';
    case 17:
      return 'max_output_tokens';
    case 21:
      return 'max_completion_tokens';
    default:
      return undefined;
  }
}
