// Aliases that lead to aliases: exact shares in any nesting, and chains that are refused.
import * as fc from 'fast-check';
import { test } from 'tap';
import { findBadChains } from '../../../domain/aliases/chains.ts';
import { createFlattener, weightsOf } from '../../../domain/aliases/flatten.ts';
import { modelNames } from '../../../domain/aliases/model-names.ts';
import { type AliasTargets, NameTable } from '../../../domain/aliases/name-table.ts';

const models = modelNames({ providers: { p: { models: ['m0', 'm1', 'm2', 'm3'] } } });
const balanced = (source: string, targets: AliasTargets['targets']): AliasTargets => {
  return { source, targets, strategy: 'round_robin' };
};

/** Aliases a0, a1, …, each with targets among the models and the aliases before it: so none leads to itself. */
const nested = fc
  .array(fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 1_000_000 })), { minLength: 1, maxLength: 5 }), {
    minLength: 1,
    maxLength: 8,
  })
  .map((list) =>
    list.map((targets, index) =>
      balanced(
        `a${index}`,
        targets.map(([pick, weight]) => {
          const name = pick % (4 + index);
          return { model: name < 4 ? `p/m${name}` : `a${name - 4}`, weight };
        }),
      ),
    ),
  );

/** How much of `share` each model gets, by walking every way. */
function walk(table: NameTable, alias: AliasTargets, share: number, into: Map<string, number>): Map<string, number> {
  const total = alias.targets.reduce((all, { weight }) => all + weight, 0);
  for (const { model, weight } of alias.targets) {
    const part = (share * weight) / total;
    const inner = table.leadOf(model)?.alias;
    if (inner === undefined) into.set(model, (into.get(model) ?? 0) + part);
    else walk(table, inner, part, into);
  }
  return into;
}

await test('shares multiply along every way, and a model that is reached twice has their sum', async (t) => {
  fc.assert(
    fc.property(nested, (aliases) => {
      const table = new NameTable(aliases, models);
      const flatten = createFlattener(table);
      for (const alias of aliases) {
        const flattened = flatten(alias);
        if (flattened === undefined) return false;
        const weights = weightsOf(flattened);
        const total = weights.reduce((all, weight) => all + weight, 0);
        const wanted = walk(table, alias, 1, new Map());
        if (flattened.leaves.length !== wanted.size) return false;
        const isRight = flattened.leaves.every(({ model }, index) => {
          const weight = weights[index] ?? 0;
          return Number.isSafeInteger(weight) && Math.abs(weight / total - (wanted.get(`p/${model}`) ?? 0)) < 1e-9;
        });
        if (!isRight) return false;
      }
      return findBadChains(aliases, table).length === 0;
    }),
  );
  t.pass('for every nesting');
});

await test('weights are the smallest whole numbers', async (t) => {
  const half = balanced('half', [
    { model: 'p/m0', weight: 20 },
    { model: 'p/m1', weight: 20 },
  ]);
  const outer = balanced('outer', [
    { model: 'half', weight: 30 },
    { model: 'p/m2', weight: 10 },
  ]);
  const flattened = createFlattener(new NameTable([half, outer], models))(outer);
  t.same(flattened && weightsOf(flattened), [3, 3, 2]);
});

await test('every cycle and every chain of nine is found, at any length', async (t) => {
  const chain = (count: number, end: string): AliasTargets[] =>
    Array.from({ length: count }, (_, index) =>
      balanced(`a${index}`, [{ model: index === count - 1 ? end : `a${index + 1}`, weight: 1 }]),
    );
  const found = (aliases: AliasTargets[]): string[] =>
    findBadChains(aliases, new NameTable(aliases, models)).map(
      ({ aliases: way, isCycle }) => `${isCycle ? 'cycle' : 'chain'} of ${way.length} from ${way[0]?.source}`,
    );
  t.same(found(chain(8, 'p/m0')), []);
  t.same(found(chain(9, 'p/m0')), ['chain of 9 from a0']);
  t.same(found(chain(20_000, 'p/m0')), ['chain of 9 from a19991'], 'said once');
  t.same(found(chain(20_000, 'a0')).slice(0, 1), ['cycle of 20000 from a0']);
  t.same(found(chain(1, 'a0')), ['cycle of 1 from a0']);
  const twoWays = [
    balanced('a', [
      { model: 'b', weight: 1 },
      { model: 'c', weight: 1 },
    ]),
    balanced('b', [{ model: 'c', weight: 1 }]),
    balanced('c', [{ model: 'p/m0', weight: 1 }]),
  ];
  t.same(found(twoWays), [], 'two ways to one alias are no cycle');
});
