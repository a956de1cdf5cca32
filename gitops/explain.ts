// The sentences behind the schema validator's errors, one for each mistake a person made.
import type { ErrorObject } from 'ajv/dist/2020.js';
import { isSecret, type Path, quote } from './problem.ts';
import { closest } from './suggest.ts';
import { valueAt } from './value-at.ts';

export interface Complaint {
  error: ErrorObject;
  path: Path;
}

export interface Sentence {
  path: Path;
  /** Whether the key or the value at the path is to be shown. */
  part: 'key' | 'value';
  message: string;
}

type Schema = {
  [word: string]: unknown;
  type?: string;
  description?: string;
  examples?: unknown[];
  properties?: Record<string, Schema>;
  propertyNames?: { description?: string };
  oneOf?: { required?: string[] }[];
  anyOf?: { required?: string[] }[];
};

const spelledBooleans: Record<string, boolean> = { yes: true, on: true, y: true, no: false, off: false, n: false };

/**
 * Turns complaints into sentences and leaves out the echoes: branches of a choice, further words about a value of the wrong type,
 * and the key that is missing because it is misspelled. `source` is the document as written: expanded values are never quoted, and
 * nothing of it is when it is `hidden`.
 */
export function explain(complaints: readonly Complaint[], source: unknown, hidden = false): Sentence[] {
  const wrongType = new Set<string>();
  const misspelled = new Set<string>();
  for (const { error } of complaints) {
    if (error.keyword === 'type') wrongType.add(error.instancePath);
    if (error.keyword !== 'additionalProperties') continue;
    const guess = guessKey(error);
    if (guess !== undefined) misspelled.add(`${error.instancePath} ${guess}`);
  }
  const sentences: Sentence[] = [];
  for (const { error, path } of complaints) {
    const { keyword, instancePath } = error;
    if (/\/(oneOf|anyOf|not)\//.test(error.schemaPath)) continue;
    if (keyword !== 'type' && wrongType.has(instancePath)) continue;
    if (keyed(error).some((key) => misspelled.has(`${instancePath} ${key}`))) continue;
    if (error.propertyName !== undefined && keyword !== 'propertyNames') continue;
    sentences.push(say(error, path, valueAt(source, path), hidden || isSecret(path)));
  }
  return sentences;
}

/** The keys whose presence an error is about. */
function keyed(error: ErrorObject): string[] {
  if (error.keyword === 'required') return [String(error.params['missingProperty'])];
  const { oneOf, anyOf } = schemaOf(error);
  if (error.keyword !== 'oneOf' && error.keyword !== 'anyOf') return [];
  return [...(oneOf ?? []), ...(anyOf ?? [])].flatMap(({ required }) => required ?? []);
}

function say(error: ErrorObject, path: Path, found: unknown, hidden: boolean): Sentence {
  const { params } = error;
  const schema = schemaOf(error);
  const here = (message: string): Sentence => ({ path, part: 'value', message });
  const seen = hidden ? kindOf(found) : describe(found);
  const andFound = hidden ? '' : `, found ${seen}`;
  switch (error.keyword) {
    case 'type':
      return here(sayType(schema, found, seen));
    case 'enum':
      return here(sayChoice(params['allowedValues'], found, seen));
    case 'pattern':
      return here(`has the wrong form${andFound}; ${sayExpected(schema)}`);
    case 'x-unit':
      return here(`is out of range${andFound}; expected ${error.schema === 'size' ? '1B to 1GiB' : '1ms to 596h'}`);
    case 'required': {
      const key = String(params['missingProperty']);
      return here(`the key ${quote(key)} is missing${sayExample(schema.properties?.[key])}`);
    }
    case 'additionalProperties': {
      const key = String(params['additionalProperty']);
      return { path: [...path, key], part: 'key', message: sayUnknownKey(key, error, hidden) };
    }
    case 'propertyNames': {
      const key = String(params['propertyName']);
      return {
        path: [...path, key],
        part: 'key',
        message: `the name ${quote(key)} cannot be used: ${schema.propertyNames?.description}`,
      };
    }
    case 'minimum':
      return here(`must be at least ${params['limit']}${andFound}`);
    case 'maximum':
      return here(`must be at most ${params['limit']}${andFound}`);
    case 'minItems':
      return here(`must have at least one entry, found an empty list${sayExample(schema)}`);
    case 'minLength':
      return here(`must not be empty${sayExample(schema)}`);
    case 'maxLength':
      return here(`is longer than ${params['limit']} characters`);
    case 'uniqueItems': {
      const [first, second] = [Number(params['i']), Number(params['j'])].sort((a, b) => a - b);
      return {
        path: [...path, second ?? 0],
        part: 'value',
        message: `is the same as entry [${first}]; every entry may stand here once`,
      };
    }
    default:
      return here(schema.description ?? error.message ?? 'is not allowed here');
  }
}

function sayType({ type: expected = '', 'x-unit': unit, examples }: Schema, found: unknown, seen: string): string {
  const spelled = typeof found === 'string' ? spelledBooleans[found.toLowerCase()] : undefined;
  let hint = '';
  if (unit !== undefined && typeof found === 'number') hint = `; add a unit, such as ${quote(String(examples?.[0]))}`;
  else if (expected === 'boolean' && spelled !== undefined) hint = `; write ${spelled}`;
  else if (expected === 'string' && (typeof found === 'number' || typeof found === 'boolean'))
    hint = '; put it in quotes';
  else if (expected === 'integer' && typeof found === 'string')
    hint = '; write plain digits without quotes or separators';
  else if (found === null) hint = '; give it a value or remove the key';
  else if (expected === 'array' && typeof found === 'object') hint = '; begin every entry with "- "';
  const what = expected === 'integer' && seen === 'a number' ? 'another number' : seen;
  return `must be ${kinds[expected] ?? expected}, found ${what}${hint}`;
}

const kinds: Record<string, string> = {
  array: 'a list',
  object: 'a mapping of keys to values',
  string: 'text',
  integer: 'a whole number',
  boolean: 'true or false',
};

function sayChoice(allowed: readonly string[], found: unknown, seen: string): string {
  const guess = typeof found === 'string' ? closest(found, allowed) : undefined;
  const hint = guess === undefined ? '' : `; did you mean ${quote(guess)}?`;
  return `must be ${allowed.length > 1 ? 'one of ' : ''}${allowed.join(', ')}, found ${seen}${hint}`;
}

function sayUnknownKey(key: string, error: ErrorObject, hidden: boolean): string {
  const unknown = hidden ? 'has an unknown key' : `unknown key ${quote(key)}`;
  const guess = guessKey(error);
  if (guess !== undefined) return `${unknown}; did you mean ${quote(guess)}?`;
  return `${unknown}; known here: ${Object.keys(schemaOf(error).properties ?? {}).join(', ')}`;
}

function guessKey(error: ErrorObject): string | undefined {
  return closest(String(error.params['additionalProperty']), Object.keys(schemaOf(error).properties ?? {}));
}

function sayExpected({ description = '', examples }: Schema): string {
  const [sentence = ''] = description.split(/[.;] |\.$/);
  return `expected something like ${quote(String(examples?.[0]))} (${sentence.slice(0, 1).toLowerCase()}${sentence.slice(1)})`;
}

function sayExample(schema: Schema | undefined): string {
  const example = schema?.examples?.[0];
  if (example === undefined) return '';
  return `; for example ${typeof example === 'string' ? quote(example) : JSON.stringify(example)}`;
}

function describe(found: unknown): string {
  if (typeof found === 'string') return `the text ${quote(found)}`;
  if (typeof found === 'number') return `the number ${found}`;
  return typeof found === 'boolean' ? String(found) : kindOf(found);
}

function kindOf(found: unknown): string {
  if (found === null) return 'nothing (null)';
  if (Array.isArray(found)) return 'a list';
  return typeof found === 'object' ? 'a mapping' : `a ${typeof found}`;
}

function schemaOf(error: ErrorObject): Schema {
  const schema: Schema = error.parentSchema ?? {};
  return schema;
}
