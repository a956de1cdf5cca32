// Compiles JSON Schemas, with the gateway's own keywords. The planes do not: they load the functions that `npm run generate` has written,
// because compiling takes 100 ms of a start.
import { _, Ajv2020 } from 'ajv/dist/2020.js';
import standaloneCode from 'ajv/dist/standalone/index.js';
import { formats, isWithinRange } from './formats.ts';
import type { BodyValidators } from './validator.ts';

/** A compiler without schemas. `findsAll`: its functions continue after the first mistake. */
export function createCompiler({ findsAll }: { readonly findsAll: boolean }): Ajv2020 {
  const ajv = new Ajv2020({
    strict: true,
    strictRequired: false,
    // A condition may restrict a member whose type another part of the schema declares.
    strictTypes: false,
    allErrors: findsAll,
    coerceTypes: false,
    removeAdditional: false,
    useDefaults: true,
    verbose: true,
    // A test checks the schemas against their meta-schema.
    meta: false,
    validateSchema: false,
    code: { source: true, esm: true, formats: _`formats` },
  });
  for (const [name, isValid] of Object.entries(formats)) ajv.addFormat(name, isValid);
  ajv.addKeyword({ keyword: 'x-assembled', schemaType: 'string' });
  // The meaning of a pattern, in words: for the sentence about a text that does not match.
  ajv.addKeyword({ keyword: 'x-form', schemaType: 'string' });
  ajv.addKeyword({
    keyword: 'x-unit',
    schemaType: 'string',
    type: 'string',
    error: { message: 'range' },
    code(context) {
      const check = context.gen.scopeValue('func', { ref: isWithinRange, code: _`isWithinRange` });
      context.fail(_`!${check}(${context.schema}, ${context.data})`);
    },
  });
  return ajv;
}

/** The schema without what is checked after single members: required members, and conditions between members. */
export function membersAlone(schema: object): object {
  const isLater = (word: string, part: unknown): boolean =>
    (word === 'allOf' || word === 'required') && Array.isArray(part);
  return JSON.parse(
    JSON.stringify(schema, (word, part: unknown) => (isLater(word, part) ? undefined : part)),
  ) as object;
}

/** Compiles the two checks of a body. */
export function compileBody<Body>(schema: object): BodyValidators<Body> {
  const compiler = createCompiler({ findsAll: false });
  return { members: compiler.compile<Body>(membersAlone(schema)), whole: compiler.compile<Body>(schema) };
}

/** The text of a module that exports schemas of `compiler` as functions. `keys`: name of the function → key of the schema. */
export function moduleOf(compiler: Ajv2020, keys: Readonly<Record<string, string>>): string {
  const imports = ["import { formats, isWithinRange } from '../formats.ts';"];
  const code = standaloneCode.default(compiler, keys).replace('"use strict";', '');
  const body = code.replaceAll(
    /require\("(ajv\/dist\/runtime\/(\w+))"\)\.default/g,
    (_all, path: string, name: string) => {
      const line = `import ${name} from '${path}.js';`;
      if (!imports.includes(line)) imports.push(line);
      return `${name}.default`;
    },
  );
  return `${imports.join('\n')}\n${body}\n`;
}
