// The words of problem sentences for JSON bodies. They follow "The member … ".
import { purposeOf, type Schema, type Wording } from '../../schemas/validation/explain.ts';

export const jsonWording: Wording = {
  kinds: {
    array: 'a list',
    object: 'an object',
    string: 'a string',
    integer: 'a whole number',
    number: 'a number',
    boolean: 'true or false',
    null: 'null',
  },
  found: { null: 'null', array: 'a list', object: 'an object' },
  typeHint: () => '',
  purpose,
  guess: (word) => `; perhaps ${JSON.stringify(word)} was meant`,
  missing(path, key, schema) {
    return { path: [...path, key], part: 'key', message: `is missing${purpose(schema)}` };
  },
  unknown(path, key, { guess }) {
    const hint = guess === undefined ? '' : jsonWording.guess(guess);
    return { path: [...path, key], part: 'key', message: `is unknown${hint}` };
  },
};

function purpose(schema: Schema | undefined): string {
  const clause = purposeOf(schema ?? {});
  return clause === '' ? '' : ` (${clause})`;
}
