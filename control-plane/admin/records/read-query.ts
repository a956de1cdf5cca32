// Reads what the queries for records have in common: pages, choices, and user paths within the scope of the operator.
import { isWithin, normaliseUserPath } from '../../../domain/user-path.ts';
import { isInScope, type Operator } from '../../authenticate.ts';
import { invalidQuery, readQuery } from '../../managed/read-query.ts';

/** An empty value of these has no clear meaning; of others it counts as absent, as forms send it. */
const neverEmpty: ReadonlySet<string> = new Set(['limit', 'offset', 'log_id', 'cursor']);

/** The longest page of a listing (spec, Other constants). */
export const longestPage = 100;

export type Given<Name extends string> = Readonly<Partial<Record<Name, string>>>;

/** As `readQuery`, without parameters that have an empty value. */
export function readFilled<Name extends string>(query: unknown, names: readonly Name[]): Given<Name> {
  const given = readQuery(query, names);
  const filled = Object.entries<string | undefined>(given).filter(
    ([name, value]) => value !== '' || neverEmpty.has(name),
  );
  return Object.fromEntries(filled) as Given<Name>;
}

/** Throws 400 `invalid_query` for anything but a whole number in decimal digits within the bounds. */
export function readWhole(name: string, text: string, [least, most]: readonly [number, number]): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw invalidQuery(name, `must be a whole number from ${least} to ${most}`);
}

/** Throws 400 `invalid_query` for a text that is none of the choices. */
export function readChoice<Choice extends string>(name: string, text: string, choices: readonly Choice[]): Choice {
  const chosen = choices.find((each) => each === text);
  if (chosen === undefined) throw invalidQuery(name, `must be one of ${choices.join(', ')}`);
  return chosen;
}

export interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** Throws 400 `invalid_query`. */
export function readPage({ limit, offset }: Given<'limit' | 'offset'>, usualLimit: number): Page {
  return {
    limit: limit === undefined ? usualLimit : readWhole('limit', limit, [1, longestPage]),
    offset: offset === undefined ? 0 : readWhole('offset', offset, [0, Number.MAX_SAFE_INTEGER]),
  };
}

/**
 * The user path whose records, and those below it, are asked for and may be seen: that of the filter, or of the operator when it is the
 * narrower one. Undefined: the operator may see nothing of it. Throws 400 `invalid_query` for a text that is no user path.
 */
export function readUserPath(text: string | undefined, operator: Operator): string | undefined {
  if (text === undefined) return operator.userPath;
  const { path, problem } = normaliseUserPath(text);
  if (problem !== undefined) throw invalidQuery('user_path', problem);
  if (isInScope(operator, path)) return path;
  return isWithin(operator.userPath, path) ? operator.userPath : undefined;
}
