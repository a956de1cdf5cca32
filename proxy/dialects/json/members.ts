// Members of a client's body, read with the type they must have. A wrong one is refused with its path; null counts as absent.

import { InvalidRequest } from '../translation.ts';
import { isObject, type JsonObject, type JsonValue, numberOf } from './json.ts';

/** The path of a member: `messages[2].content`. `at` is the path of the object that holds it, empty at the top. */
export function pathOf(at: string, key: string): string {
  return at === '' ? key : `${at}.${key}`;
}

/** A string member; undefined when it is absent. Throws an InvalidRequest for any other type. */
export function optionalText(body: JsonObject, key: string, at: string = ''): string | undefined {
  return optional(body, key, at, text) as string | undefined;
}

/** A string member. Throws an InvalidRequest when it is absent or of any other type. */
export function requiredText(body: JsonObject, key: string, at: string = ''): string {
  const value = optionalText(body, key, at);
  if (value === undefined) throw new InvalidRequest(pathOf(at, key), 'is missing; it must be a text');
  return value;
}

/** A boolean member; undefined when it is absent. Throws an InvalidRequest for any other type. */
export function optionalFlag(body: JsonObject, key: string, at: string = ''): boolean | undefined {
  return optional(body, key, at, flag) as boolean | undefined;
}

/** A number member as it was written; undefined when it is absent. Throws an InvalidRequest for any other type. */
export function optionalNumber(body: JsonObject, key: string, at: string = ''): JsonValue | undefined {
  return optional(body, key, at, number);
}

/** An object member; undefined when it is absent. Throws an InvalidRequest for any other type. */
export function optionalObject(body: JsonObject, key: string, at: string = ''): JsonObject | undefined {
  return optional(body, key, at, object) as JsonObject | undefined;
}

/** An object member. Throws an InvalidRequest when it is absent or of any other type. */
export function requiredObject(body: JsonObject, key: string, at: string = ''): JsonObject {
  const value = optionalObject(body, key, at);
  if (value === undefined) throw new InvalidRequest(pathOf(at, key), 'is missing; it must be an object');
  return value;
}

/** A list member; undefined when it is absent. Throws an InvalidRequest for any other type. */
export function optionalList(body: JsonObject, key: string, at: string = ''): readonly JsonValue[] | undefined {
  return optional(body, key, at, list) as readonly JsonValue[] | undefined;
}

/** Each entry of a list as an object, with its path. Throws an InvalidRequest for an entry that is not an object. */
export function objectsIn(entries: readonly JsonValue[], at: string): readonly { value: JsonObject; at: string }[] {
  return entries.map((value, index) => {
    const place = `${at}[${index}]`;
    if (!isObject(value)) throw new InvalidRequest(place, 'must be an object');
    return { value, at: place };
  });
}

/** The members that are not among the known ones, in their order; null counts as absent. */
export function unknownMembers(body: JsonObject, known: ReadonlySet<string>): readonly [string, JsonValue][] {
  const unknown: [string, JsonValue][] = [];
  for (const key of Object.keys(body)) {
    const value = known.has(key) ? undefined : body[key];
    if (value !== undefined && value !== null) unknown.push([key, value]);
  }
  return unknown;
}

interface Kind {
  readonly is: (value: JsonValue) => boolean;
  readonly noun: string;
}

const text: Kind = { is: (value) => typeof value === 'string', noun: 'a text' };
const flag: Kind = { is: (value) => typeof value === 'boolean', noun: 'true or false' };
const number: Kind = { is: (value) => numberOf(value) !== undefined, noun: 'a number' };
const object: Kind = { is: isObject, noun: 'an object' };
const list: Kind = { is: Array.isArray, noun: 'a list' };

function optional(body: JsonObject, key: string, at: string, { is, noun }: Kind): JsonValue | undefined {
  const value = Object.hasOwn(body, key) ? body[key] : undefined;
  if (value === undefined || value === null) return undefined;
  if (!is(value)) throw new InvalidRequest(pathOf(at, key), `must be ${noun}`);
  return value;
}
