// Aliases of operators over those of the configuration: which one is in force, and what is said of those that are not.
import { test } from 'tap';
import { aliasKey, type ManualAlias } from '../../../domain/aliases/manual-alias.ts';
import { aliasesInForce, aliasProblems, mergeAliases } from '../../../domain/aliases/merge-aliases.ts';
import { modelNames } from '../../../domain/aliases/model-names.ts';
import type { Alias } from '../../../schemas/types.ts';

const models = modelNames({ providers: { p: { models: ['m', 'n'] } } });
const alias = (source: string, ...targets: string[]): Alias => ({
  source,
  targets: targets.map((model) => ({ model, weight: 1 })),
  strategy: 'round_robin',
  enabled: true,
  hedge: false,
});
const manual = (source: string, ...targets: string[]): ManualAlias => ({
  key: aliasKey(source),
  value: alias(source, ...targets),
  createdAt: '',
  updatedAt: '',
  updatedBy: '',
});
const targetsInForce = (config: Alias[], set: ManualAlias[]): string[] =>
  aliasesInForce(mergeAliases(config, set, models)).map(
    ({ source, targets }) => `${source}: ${targets.map(({ model }) => model).join(' ')}`,
  );
const said = (config: Alias[], set: ManualAlias[]): string[] => aliasProblems(mergeAliases(config, set, models));

await test('an alias of an operator takes the place of a declared one, letter case aside', async (t) => {
  const config = [alias('chat', 'p/m'), alias('Fast', 'p/m')];
  t.same(targetsInForce(config, [manual('fast', 'p/n'), manual('new', 'fast')]), [
    'chat: p/m',
    'fast: p/n',
    'new: fast',
  ]);
  t.match(mergeAliases(config, [manual('FAST', 'p/n')], models), [
    { key: 'chat', overridesConfig: false, enforced: true },
    { key: 'fast', overridesConfig: true, enforced: true, manual: Object },
  ]);
});

await test('one that cannot be used is left out, and the declared one is in force', async (t) => {
  const config = [alias('chat', 'p/m')];
  const set = [manual('chat', 'gone/x'), manual('other', 'chat')];
  t.same(targetsInForce(config, set), ['chat: p/m', 'other: chat']);
  t.same(said(config, set), ['the virtual model "chat" is not in force: there is no provider "gone"; known: p']);
  t.match(
    mergeAliases(config, set, models).map(({ key, enforced }) => `${key} ${enforced}`),
    ['chat true', 'chat false', 'other true'],
  );
});

await test('what leads to one that is left out is left out too, but for its other targets', async (t) => {
  const set = [manual('a', 'b'), manual('b', 'p/gone'), manual('c', 'b', 'p/n')];
  t.same(targetsInForce([], set), ['c: b p/n']);
  t.match(said([], set), [
    /^the virtual model "a" is not in force: there is no alias "b"/,
    /^the virtual model "b" is not in force: the provider "p" does not list the model "gone"/,
    /^the virtual model "c" is in force without a part of it: there is no alias "b"/,
  ]);
});

await test('a cycle through declared aliases leaves out those of operators in it', async (t) => {
  const config = [alias('outer', 'inner'), alias('inner', 'p/m')];
  const set = [manual('inner', 'outer'), manual('apart', 'inner')];
  t.same(targetsInForce(config, set), ['outer: inner', 'inner: p/m', 'apart: inner']);
  t.same(said(config, set), [
    'the virtual model "inner" is not in force: the alias "outer" leads to itself: "outer" → "inner" → "outer"',
  ]);
});
