// Creates the JSON Schema validator, with the gateway's own keywords, for the configuration and for bodies of the admin API.
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { parseMoment } from '../rules/moment.ts';
import { durationMs, largestSizeBytes, longestDurationMs, sizeBytes } from '../units.ts';
import type { Path } from './path.ts';
import { valueAt } from './value-at.ts';

/** Whether a value is valid; if not, its `errors` say why. Writes defaults into the value. */
export type Validator<Value> = ValidateFunction<Value>;

/** One error of the validator, and its place. */
export interface Complaint {
  readonly error: ErrorObject;
  readonly path: Path;
}

/** A validator without schemas. `findsAll`: it continues after the first mistake. */
export function createValidators({ findsAll }: { readonly findsAll: boolean }): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    strictRequired: false,
    // A condition may restrict a member whose type another part of the schema declares.
    strictTypes: false,
    allErrors: findsAll,
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: true,
    verbose: true,
    // A test checks the schemas against their meta-schema. Doing it here, and optimising the code, would cost 20 ms at every start.
    meta: false,
    validateSchema: false,
    code: { optimize: false },
  });
  ajv.addFormat('date-time', (text) => parseMoment(text) !== undefined);
  ajv.addKeyword({ keyword: 'x-assembled', schemaType: 'string' });
  ajv.addKeyword({
    keyword: 'x-unit',
    schemaType: 'string',
    type: 'string',
    error: { message: 'range' },
    validate: isWithinRange,
  });
  return ajv;
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

/** True for a text of the wrong form, because the pattern reports it: one mistake is reported once. */
function isWithinRange(unit: string, text: string): boolean {
  try {
    const [amount, most] =
      unit === 'size' ? [sizeBytes(text), largestSizeBytes] : [durationMs(text), longestDurationMs];
    return amount >= 1 && amount <= most;
  } catch (error) {
    if (error instanceof RangeError) return true;
    throw error;
  }
}
