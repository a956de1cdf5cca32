// Finds the first mistake in a body: first in single members, then in conditions between members.
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { explain, type Sentence, type Wording } from './explain.ts';
import { type Complaint, complaintsOf, createValidators, type Validator } from './validator.ts';

/** The two checks of a schema. */
interface Steps {
  /** Checks the present members one by one. */
  readonly members: Validator<unknown>;
  /** Checks the whole schema: also required members and conditions between members. */
  readonly whole: Validator<unknown>;
}

let validators: Ajv2020 | undefined;

/**
 * Gives the first mistake in a value, or undefined when there is none; then the defaults are written into the value. Conditions between
 * members are in the `allOf` of their object; the description beside the failing keyword is the sentence. The check ends at the first
 * mistake, so that a large body with many mistakes costs no more than a valid one. The schema is compiled at the first call.
 */
export function createCheck(schema: object, wording: Wording): (value: unknown) => Sentence | undefined {
  let steps: Steps | undefined;
  return (value) => {
    steps ??= compile(schema);
    const { members, whole } = steps;
    if (!members(value)) return say(complaintsOf(members.errors, value), value, wording);
    return whole(value) ? undefined : say(complaintsOf(whole.errors, value), value, wording);
  };
}

/** The first check has no required members, so that a misspelled member is found before the missing one. */
function compile(schema: object): Steps {
  validators ??= createValidators({ findsAll: false });
  const isLater = (word: string, part: unknown): boolean =>
    (word === 'allOf' || word === 'required') && Array.isArray(part);
  const text = JSON.stringify(schema, (word, part: unknown) => (isLater(word, part) ? undefined : part));
  return { members: validators.compile(JSON.parse(text) as object), whole: validators.compile(schema) };
}

/** The sentence for a schema keyword without one. */
const unexplained: Sentence = { path: [], part: 'value', message: 'is not what its schema describes' };

function say(complaints: readonly Complaint[], source: unknown, wording: Wording): Sentence {
  const condition = complaints.find(({ error }) => isCondition(error));
  const description: unknown = condition?.error.parentSchema?.['description'];
  if (condition === undefined || typeof description !== 'string') {
    return explain(complaints, { source, wording })[0] ?? unexplained;
  }
  const { error, path } = condition;
  const place = error.keyword === 'required' ? [...path, String(error.params['missingProperty'])] : path;
  return { path: place, part: 'value', message: description };
}

/** Whether the error is a condition of an `allOf`, and not a branch of another condition. */
function isCondition({ keyword, schemaPath }: Complaint['error']): boolean {
  return keyword !== 'if' && schemaPath.includes('/allOf/') && !/\/(oneOf|anyOf|not)\//.test(schemaPath);
}
