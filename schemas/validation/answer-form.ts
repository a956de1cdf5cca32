// JSON Schemas that answers must match, compiled. The compiler takes 50 ms to load, so it is loaded only for such a schema.
import { compilePattern } from '../guardrails/pattern.ts';
import type { Path } from './path.ts';

type Compiler = typeof import('ajv/dist/2020.js').Ajv2020;

let loaded: Compiler | undefined;

/** What is wrong with a schema, and where in it. */
export class SchemaMistake extends Error {
  readonly place: Path;

  constructor(message: string, place: Path) {
    super(message);
    this.name = 'SchemaMistake';
    this.place = place;
  }
}

/** Makes it possible to compile forms. */
export async function loadFormCompiler(): Promise<void> {
  loaded ??= (await import('ajv/dist/2020.js')).Ajv2020;
}

/** Says whether a value has the form. Throws a SchemaMistake, also before `loadFormCompiler` has ended. */
export function compileAnswerForm(schema: object): (value: unknown) => boolean {
  if (loaded === undefined) throw new SchemaMistake('cannot be read; write its keys plainly, as in schema: {…}', []);
  const ajv = new loaded({
    strict: false,
    validateFormats: false,
    logger: false,
    code: { regExp: Object.assign(matcherOf, { code: '' }) },
  });
  if (ajv.validateSchema(schema) !== true) {
    const [first] = ajv.errors ?? [];
    const place = (first?.instancePath ?? '').split('/').slice(1);
    throw new SchemaMistake(
      `is no JSON Schema (2020-12): it ${first?.message ?? 'is not valid'}`,
      place.map(unescaped),
    );
  }
  try {
    return ajv.compile(schema);
  } catch (error) {
    throw new SchemaMistake(`cannot be used: ${(error as Error).message}`, []);
  }
}

/** Patterns whose time is linear in the text. The compiler tells one from another by its text. */
function matcherOf(pattern: string): { test(text: string): boolean; toString(): string } {
  const compiled = compilePattern(pattern);
  return { test: (text) => compiled.test(text), toString: () => pattern };
}

/** A part of a JSON pointer as it is written in the schema; indexes of lists are numbers. */
function unescaped(part: string): string | number {
  if (/^(0|[1-9]\d*)$/.test(part)) return Number(part);
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
