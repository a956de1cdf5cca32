// JSON as values, read and written so that no number loses a digit.
import { isHarmless, readJson, setMember } from './read-json.ts';

/** A number that JavaScript cannot hold exactly, with its text. It is written as it was read. */
export interface ExactNumber {
  readonly rawJSON: string;
}

export type JsonValue = null | boolean | number | string | ExactNumber | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/**
 * A number with more than 15 digits, a zero at the end of a fraction or an exponent would change, and so would -0. What looks like one
 * within a text costs only time. Numbers begin behind a sign of the grammar or a blank, so each is tried once; that is looked for from their first
 * digit on, because texts have more blanks than digits: 8 KiB of words take 0.4 instead of 9 µs.
 */
const mayChange = /\d(?<=(?:^|[:,[\s])-?\d)(?:[\d.]{15}|\d*\.\d*0(?!\d)|[\d.]*[eE]|(?<=-0)(?![\d.]))/;

declare global {
  interface JSON {
    rawJSON(text: string): ExactNumber;
    isRawJSON(value: unknown): value is ExactNumber;
  }
}

/** A parsed object that may be changed. */
export interface EditableObject {
  [key: string]: JsonValue | undefined;
}

/** Parses JSON; numbers that would change become an `ExactNumber`. Throws a SyntaxError, also where it is nested too deeply. */
export function parseJson(text: string): JsonValue {
  const isPlain = isHarmless(text) && !mayChange.test(text);
  return (isPlain ? JSON.parse(text) : readJson(text)) as JsonValue;
}

/** Writes JSON; members that are undefined are left out. */
export function writeJson(value: JsonValue): string {
  return JSON.stringify(value);
}

/** The object that a text holds; undefined for any other text. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    return objectOf(parseJson(text));
  } catch {
    return undefined;
  }
}

/** Whether a value is a JSON object: neither a list nor an exact number. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}

/** The value if it is an object, else undefined. */
export function objectOf(value: JsonValue | undefined): JsonObject | undefined {
  return isObject(value) ? value : undefined;
}

/** The value if it is a list, else undefined. */
export function listOf(value: JsonValue | undefined): readonly JsonValue[] | undefined {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : undefined;
}

/** The value if it is a string, else undefined. */
export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The value as a number, an exact one rounded to a double; undefined for any other value. */
export function numberOf(value: JsonValue | undefined): number | undefined {
  if (typeof value === 'number') return value;
  return JSON.isRawJSON(value) ? Number(value.rawJSON) : undefined;
}

/** The members of an object that are not undefined. */
export function withoutAbsent<Members extends object>(members: Members): Members {
  const said: Record<string, unknown> = {};
  for (const key in members) if (members[key] !== undefined) setMember(said, key, members[key]);
  return said as Members;
}

/** The list; undefined when it is empty. */
export function unlessEmpty<Entry>(list: readonly Entry[]): readonly Entry[] | undefined {
  return list.length === 0 ? undefined : list;
}
