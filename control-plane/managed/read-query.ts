// Reads the query of a request: known names only, each once.
import { refusal } from '../errors.ts';

/** The values of the named parameters. Throws 400 `invalid_query` naming a parameter that is unknown or given twice. */
export function readQuery<Name extends string>(
  query: unknown,
  names: readonly Name[],
): Readonly<Partial<Record<Name, string>>> {
  const found: Partial<Record<Name, string>> = {};
  for (const [given, value] of Object.entries(query as Readonly<Record<string, unknown>>)) {
    const name = names.find((each) => each === given);
    if (name === undefined) throw invalidQuery(given, `is unknown; known are ${names.join(', ')}`);
    if (typeof value !== 'string') throw invalidQuery(given, 'is given more than once');
    found[name] = value;
  }
  return found;
}

/** The 400 for one parameter; `problem` continues the sentence "The query parameter … ". */
export function invalidQuery(param: string, problem: string): Error {
  return refusal('invalid_query', { param, fill: { name: JSON.stringify(param), problem } });
}
