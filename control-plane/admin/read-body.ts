// Reads the JSON body of a request by its schema; a refusal names the member at fault.
import { parseMoment } from '../../schemas/rules/moment.ts';
import type { Sentence } from '../../schemas/validation/explain.ts';
import { createCheck } from '../../schemas/validation/first-mistake.ts';
import { type ErrorCode, type Refusal, refusal } from '../errors.ts';
import { jsonWording } from './json-wording.ts';

/** Gives the body as its schema describes it. Throws the refusal. */
export type BodyReader<Body> = (body: unknown) => Body;

/** The last moment of the year 9999: RFC 3339 ends there, so a later one could be written down but not read again. */
const lastMomentMs = 253_402_300_799_999;

/** The 400 for one member; `param` is its path such as `limit_key.period`, the problem goes on the sentence "The member … ". */
export function invalid(param: string, problem: string): Refusal {
  return refusal('invalid_member', { param, fill: { member: JSON.stringify(param), problem } });
}

/**
 * Gives what reads bodies of a schema of `schemas/admin`, the defaults filled in. It throws 400 `invalid_json` for what is no object, and
 * 400 `invalid_member` naming the first member at fault; `codes` are the members that have an error code of their own.
 */
export function createBodyReader<Body extends object>(
  schema: object,
  codes: Readonly<Record<string, ErrorCode>> = {},
): BodyReader<Body> {
  const check = createCheck(schema, jsonWording);
  return (body) => {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) throw refusal('invalid_json');
    const mistake = check(body);
    if (mistake === undefined) return body as Body;
    const { param, problem } = aboutMember(mistake);
    const code = Object.hasOwn(codes, param) ? codes[param] : undefined;
    throw code === undefined ? invalid(param, problem) : refusal(code, { param });
  };
}

/** The member `expires_at`: a moment after `nowMs`, both in Unix milliseconds; null is the same as absent. */
export function readExpiry(text: string | null | undefined, nowMs: number): number | undefined {
  if (text === undefined || text === null) return undefined;
  const expiresAtMs = parseMoment(text);
  if (expiresAtMs === undefined || expiresAtMs > lastMomentMs) {
    throw invalid('expires_at', 'must be a moment of RFC 3339 such as 2030-01-31T12:00:00Z');
  }
  if (expiresAtMs <= nowMs) throw invalid('expires_at', 'must lie in the future');
  return expiresAtMs;
}

/** A wrong entry of a list is a problem of the member that is the list. */
function aboutMember({ path, message }: Sentence): { param: string; problem: string } {
  const last = path.at(-1);
  const member = typeof last === 'number' ? path.slice(0, -1) : path;
  const param = member.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('');
  return { param: param.slice(1), problem: typeof last === 'number' ? `in entry [${last}] ${message}` : message };
}
