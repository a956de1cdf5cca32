// The words of problem sentences for YAML files: keys, lists, mappings, and what to write instead.

import { type Schema, sayExample, type Wording } from '../../schemas/validation/explain.ts';
import { quote } from '../../schemas/validation/path.ts';
import { otherName } from './other-names.ts';

const spelledBooleans: Readonly<Record<string, boolean>> = {
  yes: true,
  on: true,
  y: true,
  no: false,
  off: false,
  n: false,
};

export const yamlWording: Wording = {
  kinds: {
    array: 'a list',
    object: 'a mapping of keys to values',
    string: 'text',
    integer: 'a whole number',
    number: 'a number',
    boolean: 'true or false',
    null: 'nothing',
  },
  found: { null: 'nothing (null)', array: 'a list', object: 'a mapping' },
  typeHint,
  purpose: () => '',
  guess: (word) => `; did you mean ${quote(word)}?`,
  missing(path, key, schema) {
    return { path, part: 'value', message: `the key ${quote(key)} is missing${sayExample(schema)}` };
  },
  unknown(path, key, { known, guess, isHidden }) {
    const unknown = isHidden ? 'has an unknown key' : `unknown key ${quote(key)}`;
    const other = otherName(path, key);
    const hint = guess === undefined ? `; known here: ${known.join(', ')}` : yamlWording.guess(guess);
    return { path: [...path, key], part: 'key', message: `${unknown}${other ?? hint}` };
  },
};

function typeHint({ type: expected, 'x-unit': unit, examples }: Schema, found: unknown): string {
  const spelled = typeof found === 'string' ? spelledBooleans[found.toLowerCase()] : undefined;
  if (unit !== undefined && typeof found === 'number') return `; add a unit, such as ${quote(String(examples?.[0]))}`;
  if (expected === 'boolean' && spelled !== undefined) return `; write ${spelled}`;
  if ([expected].flat().includes('string') && (typeof found === 'number' || typeof found === 'boolean'))
    return '; put it in quotes';
  if (expected === 'integer' && typeof found === 'string') return '; write plain digits without quotes or separators';
  if (found === null) return '; give it a value or remove the key';
  if (expected === 'array' && typeof found === 'object') return '; begin every entry with "- "';
  return '';
}
