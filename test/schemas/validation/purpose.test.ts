// What a message says of a value's purpose: the first clause of its description, within a sentence.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { purposeOf } from '../../../schemas/validation/explain.ts';

const schemas = join(import.meta.dirname, '../../../schemas');

function descriptionsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(descriptionsIn);
  if (typeof value !== 'object' || value === null) return [];
  const own = 'description' in value && typeof value.description === 'string' ? [value.description] : [];
  return [...own, ...Object.values(value).flatMap(descriptionsIn)];
}

await test('a purpose begins in lower case, unless it begins with an abbreviation or a name', (t) => {
  const cases = [
    ['US dollars per million tokens of the request.', 'US dollars per million tokens of the request'],
    ['RFC 3339, UTC.', 'RFC 3339, UTC'],
    ['Unix seconds.', 'Unix seconds'],
    ['OpenAI keeps it.', 'OpenAI keeps it'],
    ['GATEWAY_CONFIG, as it is.', 'GATEWAY_CONFIG, as it is'],
    ['A model. More is not said.', 'a model'],
    ['Whether answers are kept; else not.', 'whether answers are kept'],
    ['Absent: all.', 'absent: all'],
  ];
  for (const [description = '', purpose] of cases) t.equal(purposeOf({ description }), purpose);
  const files = globSync('**/*.schema.json', { cwd: schemas });
  const all = files.flatMap((file) => descriptionsIn(JSON.parse(readFileSync(join(schemas, file), 'utf8'))));
  t.ok(all.length > 1_000);
  t.same(
    all.map((description) => purposeOf({ description })).filter((purpose) => /^[a-z][A-Z]/.test(purpose)),
    [],
    'no capital is left behind a small letter',
  );
  t.end();
});
