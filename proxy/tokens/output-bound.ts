// The most tokens that an answer may have, as the body of its request says.

import type { Member } from '../bytes/scan.ts';
import { spells } from '../bytes/spells.ts';

/** Longer ones are no usual counts. Bytes. */
const longestCount = 24;
/** Longest settings in an object of their own that are read: they are read at once. Bytes. */
const mostSettingBytes = 16 * 1024;
/** A client that asks for more answers side by side is believed so many. */
const mostChoices = 128;

/** The names of the dialects for the longest answer, and for the number of answers; and for objects that hold them. */
const bounds = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'maxOutputTokens', 'maxTokens'];
const choices = ['n', 'candidateCount'];
const holders = ['generationConfig', 'generation_config', 'inferenceConfig'];

/** The length of what is asked for. */
export interface AskedOutput {
  /** The most tokens of one answer, the largest where several are said; undefined: none is said. */
  readonly mostTokens: number | undefined;
  /** The number of answers side by side. */
  readonly choices: number;
}

/** Reads it from the members of the top level of a body, and from the objects that some dialects have for it. Does not throw. */
export function askedOutput(body: Buffer, members: readonly Member[]): AskedOutput {
  let mostTokens: number | undefined;
  let asked = 1;
  for (const { keyStart, keyEnd, valueStart, valueEnd } of members) {
    const isNamed = (name: string): boolean => name.length === keyEnd - keyStart && spells(body, keyStart, name);
    const bytes = valueEnd - valueStart;
    if (bytes <= longestCount && bounds.some(isNamed))
      mostTokens = larger(mostTokens, countOf(body.toString('latin1', valueStart, valueEnd)));
    else if (bytes <= longestCount && choices.some(isNamed))
      asked = countOf(body.toString('latin1', valueStart, valueEnd)) ?? asked;
    else if (bytes <= mostSettingBytes && holders.some(isNamed)) {
      const held = settingsOf(body.toString('utf8', valueStart, valueEnd));
      for (const name of bounds) mostTokens = larger(mostTokens, countOf(held[name]));
      for (const name of choices) asked = countOf(held[name]) ?? asked;
    }
  }
  return { mostTokens, choices: Math.min(asked, mostChoices) };
}

function larger(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.max(one, other);
}

/** A whole number of at least 1. */
function countOf(value: unknown): number | undefined {
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : Number.NaN;
  return Number.isSafeInteger(number) && number >= 1 ? number : undefined;
}

function settingsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
