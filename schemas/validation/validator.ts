// A compiled JSON Schema as a function, and the places of the mistakes it finds.
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import type { Path } from './path.ts';
import { valueAt } from './value-at.ts';

/** Whether a value is valid; if not, its `errors` say why. Writes defaults into the value. */
export type Validator<Value> = ValidateFunction<Value>;

/** The two checks of a body: the first has no required members, so that a misspelled member is found before the missing one. */
export interface BodyValidators<Body> {
  /** Checks the present members one by one. */
  readonly members: Validator<Body>;
  /** Checks the whole schema: also required members and conditions between members. */
  readonly whole: Validator<Body>;
}

/** One error of the validator, and its place. */
export interface Complaint {
  readonly error: ErrorObject;
  readonly path: Path;
}

/** The errors of a validator about `root`, each with its place. */
export function complaintsOf(errors: readonly ErrorObject[] | null | undefined, root: unknown): Complaint[] {
  return (errors ?? []).map((error) => ({ error, path: pathOf(error, root) }));
}

function pathOf(error: ErrorObject, root: unknown): Path {
  const path: (string | number)[] = [];
  for (const part of error.instancePath.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(valueAt(root, path)) ? Number(name) : name);
  }
  return path;
}
