// Reads members of a JSON body one by one: exact types, nothing unknown, and a refusal that names the member at fault.

import { parseMoment } from '../../schemas/rules/moment.ts';
import { closest } from '../../schemas/validation/suggest.ts';
import { type Refusal, refusal } from '../errors.ts';

export type Members = Readonly<Record<string, unknown>>;

/** The last moment of the year 9999: RFC 3339 ends there, so a later one could be written down but not read again. */
const lastMomentMs = 253_402_300_799_999;

/** The 400 for one member; `param` is its path such as `limit_key.period`, the problem goes on the sentence "The member … ". */
export function invalid(param: string, problem: string): Refusal {
  return refusal('invalid_member', { param, fill: { member: JSON.stringify(param), problem } });
}

/** The members of a body. Refuses what is no object, and members that are not among `known`. */
export function readBody(body: unknown, known: readonly string[]): Members {
  if (!isObject(body)) throw refusal('invalid_json');
  refuseUnknown(body, known, '');
  return body;
}

/** The members of the object that is the member `name`, which must be there. */
export function readObject(members: Members, name: string, known: readonly string[]): Members {
  const value = members[name];
  if (value === undefined) throw invalid(name, 'is missing');
  if (!isObject(value)) throw invalid(name, 'must be an object');
  refuseUnknown(value, known, `${name}.`);
  return value;
}

export function readText(members: Members, name: string): string | undefined {
  const value = members[name];
  if (value === undefined || typeof value === 'string') return value;
  throw invalid(name, 'must be a string');
}

/** One of a few words; `path` is the member's path. */
export function readWord<Word extends string>(value: unknown, path: string, words: readonly Word[]): Word | undefined {
  if (value === undefined) return undefined;
  const found = words.find((word) => word === value);
  if (found !== undefined) return found;
  throw invalid(path, `must be one of ${words.join(', ')}${meant(value, words)}`);
}

export function readFlag(members: Members, name: string): boolean {
  const value = members[name];
  if (value === undefined || typeof value === 'boolean') return value ?? false;
  throw invalid(name, 'must be true or false');
}

/** The member `expires_at`: a moment after `nowMs`, both in Unix milliseconds; null is the same as absent. */
export function readExpiry(members: Members, nowMs: number): number | undefined {
  const text = members['expires_at'] === null ? undefined : readText(members, 'expires_at');
  if (text === undefined) return undefined;
  const expiresAtMs = parseMoment(text);
  if (expiresAtMs === undefined || expiresAtMs > lastMomentMs) {
    throw invalid('expires_at', 'must be a moment of RFC 3339 such as 2030-01-31T12:00:00Z');
  }
  if (expiresAtMs <= nowMs) throw invalid('expires_at', 'must lie in the future');
  return expiresAtMs;
}

/** Code points, as JSON Schema counts. */
export function charactersIn(text: string): number {
  return Array.from(text).length;
}

function refuseUnknown(members: Members, known: readonly string[], within: string): void {
  for (const name of Object.keys(members)) {
    if (!known.includes(name)) throw invalid(`${within}${name}`, `is unknown${meant(name, known)}`);
  }
}

function meant(word: unknown, candidates: readonly string[]): string {
  const guess = typeof word === 'string' ? closest(word, candidates) : undefined;
  return guess === undefined ? '' : `; perhaps ${JSON.stringify(guess)} was meant`;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
