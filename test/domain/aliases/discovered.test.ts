// Names of models that providers are asked for: what is known without having asked, and with what they said.
import { test } from 'tap';
import { createFlattener } from '../../../domain/aliases/flatten.ts';
import { modelNames } from '../../../domain/aliases/model-names.ts';
import { NameTable } from '../../../domain/aliases/name-table.ts';
import { sayUndiscovered } from '../../../domain/aliases/undiscovered.ts';
import { knownModels, mayBeDiscovered } from '../../../domain/rules/known-models.ts';
import type { Alias } from '../../../schemas/types.ts';

const providers = { asked: {}, listed: { models: ['m'] } };
const alias = (source: string, ...models: string[]): Alias => ({
  source,
  targets: models.map((model) => ({ model, weight: 1 })),
  strategy: 'failover',
  enabled: true,
  hedge: false,
});
const aliases = [
  alias('mixed', 'asked/x', 'listed/m'),
  alias('bare', 'y'),
  alias('eu/*', 'asked/*'),
  alias('inner', 'eu/x'),
  { ...alias('off', 'asked/z'), enabled: false },
];

/** The models that each alias leads to. */
function leaves(models: ReturnType<typeof modelNames>): Record<string, string | undefined> {
  const flatten = createFlattener(new NameTable(aliases, models));
  return Object.fromEntries(
    aliases.map((each) => [
      each.source,
      flatten(each)
        ?.leaves.map((leaf) => `${leaf.provider}/${leaf.model}`)
        .join(),
    ]),
  );
}

await test('without having asked, any qualified name may be a model; with what was said, only those are', async (t) => {
  const open = modelNames({ providers });
  t.match(leaves(open), { mixed: 'asked/x,listed/m', inner: 'asked/x', bare: undefined });
  t.same(sayUndiscovered(aliases, open), []);
  const said = modelNames({ providers, inventories: new Map([['asked', ['y', 'm']]]) });
  t.match(leaves(said), { mixed: 'listed/m', inner: undefined, bare: 'asked/y' });
  t.same(
    said.bare.get('m')?.map(({ provider }) => provider),
    ['asked', 'listed'],
    'in the order of the providers',
  );
  t.same(sayUndiscovered(aliases, said), [
    'the alias "mixed" is without its target "asked/x" until a provider has this model',
    'the alias "inner" is without its target "eu/x" until a provider has this model',
  ]);
});

await test('the lines about missing targets, and the names of families, are bounded', async (t) => {
  const many = Array.from({ length: 25 }, (_, index) => alias(`a${index}`, 'asked/gone'));
  const ids = Array.from({ length: 60_000 }, (_, index) => `m${index}`);
  const said = modelNames({ providers, inventories: new Map([['asked', ids]]) });
  const lines = sayUndiscovered([...many, alias('eu/*', 'asked/*'), alias('us/*', 'asked/*')], said);
  t.equal(lines.length, 22);
  t.match(lines.at(-2), /^5 more targets/);
  t.match(lines.at(-1), /^the families stand for 120000 names: those beyond 100000 are left out/);
});

await test('a rule for a model that may be discovered is known; one for an alias, or of a list, is not', async (t) => {
  const known = knownModels({ providers: { Asked: {}, listed: { models: ['m'] } }, aliases: [{ source: 'Chat' }] });
  for (const subject of ['asked/x', 'x', 'meta/x']) t.ok(mayBeDiscovered(subject, known), subject);
  for (const subject of ['listed/x', 'chat']) t.notOk(mayBeDiscovered(subject, known), subject);
  t.notOk(mayBeDiscovered('x', knownModels({ providers: { listed: { models: ['m'] } }, aliases: [] })));
});
