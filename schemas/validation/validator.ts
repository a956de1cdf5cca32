// The JSON Schema validator with our own words, once for the configuration and for the bodies of the admin API.
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { parseMoment } from '../rules/moment.ts';
import { durationMs, largestSizeBytes, longestDurationMs, sizeBytes } from '../units.ts';
import type { Path } from './path.ts';
import { valueAt } from './value-at.ts';

/** Gives whether a value is one; if not, its `errors` say why. Writes defaults into the value. */
export type Validator<Value> = ValidateFunction<Value>;

/** One thing the validator found wrong, and the place it is about. */
export interface Complaint {
  readonly error: ErrorObject;
  readonly path: Path;
}

/** A validator that knows no schema yet. `findsAll`: it goes on after the first mistake. */
export function createValidators({ findsAll }: { readonly findsAll: boolean }): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    strictRequired: false,
    // A condition restricts members whose type stands elsewhere.
    strictTypes: false,
    allErrors: findsAll,
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: true,
    verbose: true,
    // A test holds the schemas against their meta-schema; doing that, and optimising the code, would cost every start 20 ms.
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

/** What a validator said of `root`, each with its place there. */
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

/** What the pattern refuses is no concern of the range, so that one mistake is reported once. */
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
