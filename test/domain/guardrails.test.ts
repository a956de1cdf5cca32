// Guardrails of the configuration and of operators together, and what a stored one must be to count.
import { test } from 'tap';
import { readManualGuardrail } from '../../domain/guardrails/manual-guardrail.ts';
import { mergeGuardrails } from '../../domain/guardrails/merge-guardrails.ts';
import type { Guardrail } from '../../schemas/types.ts';
import { compileAnswerForm, loadFormCompiler } from '../../schemas/validation/answer-form.ts';

const dates = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z', updated_by: 'master_key' };
const pii = { pii: { kinds: ['email'], action: 'block' } };
const read = (guardrail: object, id = 'a') =>
  readManualGuardrail(id, { guardrail: { name: 'a', ...guardrail }, ...dates });

await test('one of an operator replaces one of the same name, and follows those of the configuration', async (t) => {
  const declared = (name: string, order: number) => ({ name, order, mode: 'enforce', ...pii }) as Guardrail;
  const config = [declared('late', 5), declared('z', 0), declared('b', 0)];
  const manual = ['y', 'b', 'a', 'early'].map((name) => {
    const value = readManualGuardrail(name, {
      guardrail: { name, order: name === 'early' ? -1 : 0, ...pii },
      ...dates,
    });
    if (value === undefined) throw new Error(name);
    return value;
  });
  const merged = mergeGuardrails(config, manual);
  const said = merged.map(({ value: guardrail, manual: of, overridesConfig }) => [
    guardrail.name,
    of !== undefined,
    overridesConfig,
  ]);
  t.same(said, [
    ['early', true, false],
    ['z', false, false],
    ['a', true, false],
    ['b', true, true],
    ['y', true, false],
    ['late', false, false],
  ]);
});

await test('a stored guardrail has its defaults; one that cannot be what it says counts as unreadable', async (t) => {
  t.match(read(pii), { value: { mode: 'enforce', order: 0, pii: { action: 'block' } }, updatedBy: 'master_key' });
  const webhook = (more: object) => ({ webhook: { url: 'https://guard.example/check', ...more } });
  t.ok(read(webhook({})));
  const bad = [
    {},
    { ...pii, keywords: { words: ['x'], action: 'block' } },
    { pii: { kinds: ['shoe size'], action: 'block' } },
    { schema: { schema: { type: 'wish' } } },
    { limits: { max_tools: 1 }, on: ['output'] },
    { ...pii, user_paths: ['team'] },
    webhook({ secret: 'x' }),
    webhook({ headers: { authorization: 'x' } }),
    webhook({ url: 'ftp://guard.example' }),
  ];
  for (const each of bad) t.equal(read(each), undefined, JSON.stringify(each));
  t.ok(read({ regex: { patterns: ['(?<id>A)', '(?<id>B)'], action: 'block' } }), 'it refuses what it is for');
  t.equal(read(pii, 'b'), undefined, 'the name is the id');
  t.equal(readManualGuardrail('a', { guardrail: { name: 'a', ...pii } }), undefined);
  t.equal(readManualGuardrail('a', null), undefined);
});

await test('a schema of answers is as large as its compiler can take in a moment', async (t) => {
  await loadFormCompiler();
  const properties = (length: number) =>
    Object.fromEntries(Array.from({ length }, (_, index) => [`p${index}`, { type: 'string' }]));
  let deep: object = {};
  for (let depth = 0; depth < 70; depth += 1) deep = { not: deep };
  const refused: readonly (readonly [schema: object, why: string])[] = [
    [{ properties: properties(1_000) }, 'is too large: more than 1000 objects in it'],
    [deep, 'is too deep: more than 64 levels'],
    [{ patternProperties: properties(101) }, 'has more than 100 patterns'],
    [{ pattern: '\\pL'.repeat(51) }, 'has patterns that together have more than 50 classes of Unicode such as \\pL'],
  ];
  for (const [schema, message] of refused) t.throws(() => compileAnswerForm(schema), { message });
  t.ok(compileAnswerForm({ properties: properties(990) })({ p0: 'a' }));
  t.notOk(compileAnswerForm({ properties: properties(990) })({ p0: 1 }));
});
