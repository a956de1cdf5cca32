// JSON Schemas that answers must match, compiled. The compiler takes 50 ms to load, so it is loaded only for such a schema.
import { compilePattern, tooLongToCompile } from '../formats/pattern.ts';
import type { Path } from './path.ts';

type Compiler = typeof import('./ajv.ts').Ajv2020;

let loaded: Compiler | undefined;

/** Of a schema: to compile more takes too long for what goes on beside it. Objects of all kinds are parts. */
const mostParts = 1_000;
const mostPatterns = 100;
const mostDepth = 64;

/** A mistake in a schema, and its place. */
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
  loaded ??= (await import('./ajv.ts')).Ajv2020;
}

/** Says whether a value has the form. Throws a SchemaMistake, also before `loadFormCompiler` has ended. */
export function compileAnswerForm(schema: object): (value: unknown) => boolean {
  if (loaded === undefined) throw new SchemaMistake('cannot be read; write its keys plainly, as in schema: {…}', []);
  const tooLarge = sizeMistake(schema);
  if (tooLarge !== undefined) throw new SchemaMistake(tooLarge, []);
  const ajv = new loaded({
    strict: false,
    validateFormats: false,
    logger: false,
    // To make the code shorter takes the square of its length.
    code: { optimize: false, regExp: Object.assign(matcherOf, { code: '' }) },
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

function sizeMistake(schema: object): string | undefined {
  const patterns: string[] = [];
  let parts = 0;
  let level: object[] = [schema];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > mostDepth) return `is too deep: more than ${mostDepth} levels`;
    parts += level.filter((part) => !Array.isArray(part)).length;
    if (parts > mostParts) return `is too large: more than ${mostParts} objects in it`;
    level = level.flatMap((part) => {
      const { pattern, patternProperties } = part as { pattern?: unknown; patternProperties?: unknown };
      if (typeof pattern === 'string') patterns.push(pattern);
      if (isObject(patternProperties)) patterns.push(...Object.keys(patternProperties));
      return Object.values(part).filter(isObject);
    });
  }
  return patterns.length > mostPatterns ? `has more than ${mostPatterns} patterns` : patternsMistake(patterns);
}

function patternsMistake(patterns: readonly string[]): string | undefined {
  const tooLong = tooLongToCompile(patterns);
  return tooLong === undefined ? undefined : `has patterns that ${tooLong}`;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
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
