// The sentences about texts that are read elsewhere. None holds anything of what was read.
import { quote } from '../../schemas/validation/path.ts';
import type { SecretText } from '../assemble/assembled.ts';
import type { Problem } from '../read/problem.ts';
import { type SecretReference, textOf } from '../read/secret-reference.ts';

/** Why a text has no value. */
export interface Trouble {
  /** The end of a sentence: "does not exist". */
  readonly says: string;
  readonly reference: SecretReference;
  /** Set: the text cannot be used with what was read. */
  readonly isOfValue?: true;
}

/** `ending`: what follows from the trouble. */
export function sayTrouble(text: SecretText, { says, reference }: Trouble, ending: string = ''): Problem {
  return { ...text.place, message: `${subjectOf(text, reference)} ${says}${ending}` };
}

/** What follows while the last value stays in force. */
export function stays({ holds }: SecretText): string {
  return `; the last ${words[holds].stays} in force`;
}

/** What follows while there was no value yet. `hasOtherKey`: another key of the provider can be used. */
export function consequenceOf({ section, name }: SecretText, hasOtherKey: boolean): string {
  if (section === 'guardrails') return `, so the guardrail ${quote(name)} cannot judge until it can be read`;
  const what = hasOtherKey ? 'goes without this key' : 'is left out';
  return `, so the provider ${quote(name)} ${what} until it can be read`;
}

/** `isFirst`: there was no value before. */
export function sayRenewed(text: SecretText, isFirst: boolean): Problem {
  const [another, some] = words[text.holds].now;
  return { ...text.place, message: isFirst ? some : another };
}

const words = {
  key: { stays: 'key stays', now: ['names a file with another key now', 'names a file with a key now'] },
  certificates: {
    stays: 'certificates stay',
    now: ['names a file with other certificates now', 'names a file with certificates now'],
  },
  text: {
    stays: 'value stays',
    now: ['refers to a secret with another value now', 'refers to a secret that is there now'],
  },
} as const;

/** The path of `api_key_file` stays out of the sentence: it may be a key, written there by mistake. */
function subjectOf({ holds }: SecretText, reference: SecretReference): string {
  return holds === 'text' ? `refers to ${textOf(reference)}, which` : 'names a file that';
}
