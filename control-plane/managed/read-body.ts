// Reads the JSON body of a request by its schema; a refusal names the wrong member.
import { withoutKeys } from '../../schemas/formats/key-shapes.ts';
import { parseMoment } from '../../schemas/formats/moment.ts';
import type { Sentence } from '../../schemas/validation/explain.ts';
import { createCheck } from '../../schemas/validation/first-mistake.ts';
import type { BodyValidators } from '../../schemas/validation/validator.ts';
import { type ErrorCode, type Refusal, refusal } from '../errors.ts';
import { jsonWording } from './json-wording.ts';

/** Gives the body in the shape of its schema. Throws the refusal. */
export type BodyReader<Body> = (body: unknown) => Body;

/** The end of the year 9999, in Unix milliseconds: RFC 3339 cannot express a later time. */
const lastMomentMs = 253_402_300_799_999;

/** The 400 for one member. `param` is its path, such as `limit_key.period`; `problem` continues the sentence "The member … ". */
export function invalid(param: string, problem: string): Refusal {
  return refusal('invalid_member', { param, fill: { member: JSON.stringify(param), problem } });
}

/**
 * Creates a reader for bodies of a schema of `schemas/admin`; it fills in the defaults. The reader throws 400 `invalid_json` for a body
 * that is not an object, and 400 `invalid_member` naming the first wrong member. `codes`: members with another error code.
 */
export function createBodyReader<Body extends object>(
  validators: BodyValidators<Body>,
  codes: Readonly<Record<string, ErrorCode>> = {},
): BodyReader<Body> {
  const check = createCheck(validators, jsonWording);
  return (body) => {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) throw refusal('invalid_json');
    const mistake = check(body);
    if (mistake === undefined) return body as Body;
    const { param, problem } = aboutMember(mistake);
    const code = Object.hasOwn(codes, param) ? codes[param] : undefined;
    throw code === undefined ? invalid(param, problem) : refusal(code, { param });
  };
}

/** Milliseconds by the unit of `expires_in`. */
const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The members that say when something ends; the schemas allow one of them, and null is the same as absent. */
export interface GivenExpiry {
  /** RFC 3339. */
  readonly expires_at?: string | null;
  /** A whole number of minutes, hours or days, such as `8h`. */
  readonly expires_in?: string | null;
}

/** The end as Unix milliseconds, after `nowMs`; undefined: none. Throws 400 naming the member. */
export function readExpiry({ expires_at: at, expires_in: length }: GivenExpiry, nowMs: number): number | undefined {
  if (typeof length === 'string') return nowMs + Number(length.slice(0, -1)) * (unitMs[length.slice(-1)] ?? 0);
  if (at === undefined || at === null) return undefined;
  const expiresAtMs = parseMoment(at);
  if (expiresAtMs === undefined || expiresAtMs > lastMomentMs) {
    throw invalid('expires_at', 'must be a time in RFC 3339 such as 2030-01-31T12:00:00Z');
  }
  if (expiresAtMs <= nowMs) throw invalid('expires_at', 'must be in the future');
  return expiresAtMs;
}

/**
 * The words of an operator for other people: without keys, because they are stored, listed and logged. Undefined when
 * there are none.
 */
export function readWords(words: string | null | undefined): string | undefined {
  return words === undefined || words === null || words === '' ? undefined : withoutKeys(words);
}

/** A problem of a list entry is reported for the member that holds the list. */
function aboutMember({ path, message }: Sentence): { param: string; problem: string } {
  const last = path.at(-1);
  const member = typeof last === 'number' ? path.slice(0, -1) : path;
  const param = member.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
  return { param: param.slice(1), problem: typeof last === 'number' ? `in entry [${last}] ${message}` : message };
}
