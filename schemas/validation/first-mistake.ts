// Finds the first mistake in a body: first in single members, then in conditions between members.
import { explain, type Sentence, type Wording } from './explain.ts';
import { type BodyValidators, type Complaint, complaintsOf } from './validator.ts';

/**
 * Gives the first mistake in a value, or undefined when there is none; then the defaults are written into the value. Conditions between
 * members are in the `allOf` of their object; the description beside the failing keyword is the sentence. The check ends at the first
 * mistake, so that a large body with many mistakes costs no more than a valid one.
 */
export function createCheck(
  { members, whole }: BodyValidators<unknown>,
  wording: Wording,
): (value: unknown) => Sentence | undefined {
  return (value) => {
    if (!members(value)) return say(complaintsOf(members.errors, value), value, wording);
    return whole(value) ? undefined : say(complaintsOf(whole.errors, value), value, wording);
  };
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
