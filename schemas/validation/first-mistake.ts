// The first mistake in a body: of its members each for itself, then in what they demand of each other.
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { explain, type Sentence, type Wording } from './explain.ts';
import { type Complaint, complaintsOf, createValidators, type Validator } from './validator.ts';

/** A schema in its two steps. */
interface Steps {
  /** What is there, each member for itself. */
  readonly members: Validator<unknown>;
  /** The whole: also what must be there, and what members demand of each other. */
  readonly whole: Validator<unknown>;
}

let validators: Ajv2020 | undefined;

/**
 * Gives the first mistake in a value, or undefined when there is none; then the defaults are written into the value. What members demand
 * of each other stands in the `allOf` of their object: there, the description beside a word that refuses is the sentence about it. Later
 * mistakes are not looked for, so that a large body with many of them costs no more than a good one. The schema is compiled at the first
 * call.
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

/** In the first step a member that is misspelled is met before the one that is missing for it. */
function compile(schema: object): Steps {
  validators ??= createValidators({ findsAll: false });
  const isLater = (word: string, part: unknown): boolean =>
    (word === 'allOf' || word === 'required') && Array.isArray(part);
  const text = JSON.stringify(schema, (word, part: unknown) => (isLater(word, part) ? undefined : part));
  return { members: validators.compile(JSON.parse(text) as object), whole: validators.compile(schema) };
}

/** Of a schema whose words have no sentence: refused all the same. */
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

/** Whether a word of an `allOf` refuses by itself, and not as a branch of another that does. */
function isCondition({ keyword, schemaPath }: Complaint['error']): boolean {
  return keyword !== 'if' && schemaPath.includes('/allOf/') && !/\/(oneOf|anyOf|not)\//.test(schemaPath);
}
