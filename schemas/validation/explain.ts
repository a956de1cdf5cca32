// Turns the errors of the schema validator into sentences, one for each mistake.
import type { ErrorObject } from 'ajv/dist/2020.js';
import { rangeOf } from './formats.ts';
import { type Path, quote } from './path.ts';
import { closest } from './suggest.ts';
import type { Complaint } from './validator.ts';
import { valueAt } from './value-at.ts';

export interface Sentence {
  path: Path;
  /** Whether the place is the key or the value at the path. */
  part: 'key' | 'value';
  message: string;
}

/** The part of a schema that sentences use. */
export interface Schema {
  readonly [word: string]: unknown;
  readonly type?: string | readonly string[];
  readonly description?: string;
  /** The meaning of its pattern; continues "must be". */
  readonly 'x-form'?: string;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly propertyNames?: { readonly description?: string };
  readonly oneOf?: readonly { readonly required?: readonly string[] }[];
  readonly anyOf?: readonly { readonly required?: readonly string[] }[];
}

/** The words of sentences: those about a YAML file differ from those about a JSON body. */
export interface Wording {
  /** Names of expected types by their JSON Schema name, and of found values other than text, numbers and booleans. */
  readonly kinds: Readonly<Record<'array' | 'boolean' | 'integer' | 'null' | 'number' | 'object' | 'string', string>>;
  readonly found: Readonly<Record<'null' | 'array' | 'object', string>>;
  /** The correct form for a value of the wrong type; begins with a semicolon, or is empty. */
  typeHint(schema: Schema, found: unknown): string;
  /** The purpose of a value, to append to a sentence about it; may be empty. */
  purpose(schema: Schema | undefined): string;
  /** A suggestion of the word that was probably meant; begins with a semicolon. */
  guess(word: string): string;
  /** `schema`: of the member that is missing at `path`. */
  missing(path: Path, key: string, schema: Schema | undefined): Sentence;
  unknown(path: Path, key: string, members: Members): Sentence;
}

/** The facts for a sentence about an unknown member. */
export interface Members {
  readonly known: readonly string[];
  /** The member that was probably meant. */
  readonly guess: string | undefined;
  /** The name must not be quoted. */
  readonly isHidden: boolean;
}

export interface Explaining {
  /** The document as written: expanded values are never quoted. */
  readonly source: unknown;
  readonly wording: Wording;
  /** Whether the value at a place is secret, so that no sentence quotes it. */
  readonly isHidden?: (path: Path) => boolean;
}

/**
 * Turns complaints into sentences and leaves out consequences of another mistake: branches of a choice, further errors of a value of the
 * wrong type, and a key that is missing because it is misspelled.
 */
export function explain(
  complaints: readonly Complaint[],
  { source, wording, isHidden = () => false }: Explaining,
): Sentence[] {
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
    const found = valueAt(source, path);
    sentences.push(say({ error, path }, found, isHidden(path) ? kindOf(found, wording) : undefined, wording));
  }
  return sentences;
}

/** The keys that an error says are missing or must not be present. */
function keyed(error: ErrorObject): string[] {
  if (error.keyword === 'required' || error.keyword === 'dependentRequired')
    return [String(error.params['missingProperty'])];
  const { oneOf, anyOf } = schemaOf(error);
  if (error.keyword !== 'oneOf' && error.keyword !== 'anyOf') return [];
  return [...(oneOf ?? []), ...(anyOf ?? [])].flatMap(({ required }) => required ?? []);
}

/** `hidden`: the words for a value that must not be quoted. */
function say({ error, path }: Complaint, found: unknown, hidden: string | undefined, wording: Wording): Sentence {
  const { params } = error;
  const schema = schemaOf(error);
  const here = (message: string): Sentence => ({ path, part: 'value', message });
  const seen = hidden ?? describe(found, wording);
  const andFound = hidden === undefined ? `, found ${seen}` : '';
  const purpose = wording.purpose(schema);
  switch (error.keyword) {
    case 'type':
      return here(`${sayType(schema, seen, wording)}${wording.typeHint(schema, found)}${purpose}`);
    case 'enum':
      return here(sayChoice(params['allowedValues'], found, seen, wording));
    case 'const':
      return here(`must be ${JSON.stringify(params['allowedValue'])}${andFound}`);
    case 'pattern':
      return here(`${sayForm(schema)}${andFound}${sayExpected(schema)}`);
    case 'format':
      return here(`must be a time in RFC 3339 such as 2030-01-31T12:00:00Z${andFound}`);
    case 'x-unit':
      return here(`is out of range${andFound}; expected ${rangeOf(error.schema)}`);
    case 'required':
    case 'dependentRequired': {
      const key = String(params['missingProperty']);
      return wording.missing(path, key, schema.properties?.[key]);
    }
    case 'additionalProperties': {
      const key = String(params['additionalProperty']);
      const known = Object.keys(schema.properties ?? {});
      return wording.unknown(path, key, { known, guess: guessKey(error), isHidden: hidden !== undefined });
    }
    case 'propertyNames': {
      const key = String(params['propertyName']);
      const message = `the name ${quote(key)} cannot be used: ${schema.propertyNames?.description}`;
      return { path: [...path, key], part: 'key', message };
    }
    case 'uniqueItems': {
      const [first, second] = [Number(params['i']), Number(params['j'])].sort((a, b) => a - b);
      const message = `is the same as entry [${first}]; remove one of them`;
      return { path: [...path, second ?? 0], part: 'value', message };
    }
    default:
      return here(saySize(error, andFound, purpose) ?? schema.description ?? error.message ?? 'is not allowed here');
  }
}

function sayType({ type = '' }: Schema, seen: string, { kinds }: Wording): string {
  const expected = [type].flat();
  const names: Readonly<Record<string, string>> = kinds;
  const what = expected[0] === 'integer' && seen === 'a number' ? 'another number' : seen;
  return `must be ${expected.map((kind) => names[kind] ?? kind).join(' or ')}, found ${what}`;
}

function sayChoice(allowed: readonly string[], found: unknown, seen: string, wording: Wording): string {
  const guess = typeof found === 'string' ? closest(found, allowed) : undefined;
  const hint = guess === undefined ? '' : wording.guess(guess);
  return `must be ${allowed.length > 1 ? 'one of ' : ''}${allowed.join(', ')}, found ${seen}${hint}`;
}

/** Undefined for a keyword that does not limit a size. */
function saySize(
  { keyword, params, parentSchema }: ErrorObject,
  andFound: string,
  purpose: string,
): string | undefined {
  switch (keyword) {
    case 'minimum':
      return `must be at least ${params['limit']}${andFound}${purpose}`;
    case 'maximum':
      return `must be at most ${params['limit']}${andFound}${purpose}`;
    case 'minItems':
      return `must have at least one entry, found an empty list${sayExample(parentSchema)}`;
    case 'maxItems':
      return `has more than ${params['limit']} entries`;
    case 'minLength':
      return `must not be empty${sayExample(parentSchema)}`;
    case 'maxLength':
      return `is longer than ${params['limit']} characters`;
    default:
      return undefined;
  }
}

function guessKey(error: ErrorObject): string | undefined {
  return closest(String(error.params['additionalProperty']), Object.keys(schemaOf(error).properties ?? {}));
}

function sayForm({ 'x-form': form }: Schema): string {
  return form === undefined ? 'has the wrong form' : `must be ${form}`;
}

function sayExpected(schema: Schema): string {
  const purpose = purposeOf(schema);
  const example = schema.examples?.[0];
  const like = typeof example === 'string' ? `; expected something like ${quote(example)}` : '';
  return purpose === '' ? like : `${like} (${purpose})`;
}

/** `; for example "x"`, or nothing. */
export function sayExample(schema: Schema | undefined): string {
  const example = schema?.examples?.[0];
  if (example === undefined) return '';
  return `; for example ${typeof example === 'string' ? quote(example) : JSON.stringify(example)}`;
}

/** Begins with a word that has its capital from the sentence alone: no abbreviation, and no name. */
const isWord = /^(?!Unix\b)[A-Z][a-z]*(?![A-Za-z0-9_])/;

/** The first clause of a description, to append to a sentence; empty without a description. */
export function purposeOf({ description = '' }: Schema): string {
  const [clause = ''] = description.split(/[.;] |\.$/);
  return isWord.test(clause) ? `${clause.slice(0, 1).toLowerCase()}${clause.slice(1)}` : clause;
}

function describe(found: unknown, wording: Wording): string {
  if (typeof found === 'string') return `the text ${quote(found)}`;
  if (typeof found === 'number') return `the number ${found}`;
  return typeof found === 'boolean' ? String(found) : kindOf(found, wording);
}

function kindOf(found: unknown, { found: names }: Wording): string {
  if (found === null) return names.null;
  if (Array.isArray(found)) return names.array;
  return typeof found === 'object' ? names.object : `a ${typeof found}`;
}

function schemaOf(error: ErrorObject): Schema {
  const schema: Schema = error.parentSchema ?? {};
  return schema;
}
