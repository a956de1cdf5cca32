// The models that a list grants: names, patterns, aliases, letter case, and which entries a key may grant.
import { test } from 'tap';
import { allowsName, allowsTarget, coversEntry, modelAccess } from '../../../domain/keys/model-access.ts';

const providers = new Set(['p', 'pp', 'q', 'router']);

type Row = [list: string[], name: string, target: [provider: string, model: string], allowed: boolean];

const rows: Row[] = [
  [[], 'x', ['p', 'm'], true],
  [['*'], 'x', ['p', 'm'], true],
  [['q/n', '*'], 'x', ['p', 'm'], true],
  [['p/m'], 'p/m', ['p', 'm'], true],
  [['p/m'], 'm', ['p', 'm'], true],
  [['p/m'], 'fast', ['p', 'm'], true],
  [['p/m'], 'p/n', ['p', 'n'], false],
  [['p/m'], 'q/m', ['q', 'm'], false],
  [['P/M'], 'p/m', ['p', 'm'], true],
  [['p/m'], 'P/M', ['P', 'M'], true],
  [['p/*'], 'p/m', ['p', 'm'], true],
  [['p/*'], 'fast', ['p', 'a/b'], true],
  [['P/*'], 'p/m', ['p', 'm'], true],
  [['p/*'], 'pp/m', ['pp', 'm'], false],
  [['p/*'], 'm', ['q', 'm'], false],
  [['m'], 'm', ['p', 'm'], true],
  [['m'], 'q/m', ['q', 'm'], true],
  [['M'], 'q/m', ['q', 'm'], true],
  [['m'], 'q/mm', ['q', 'mm'], false],
  [['fast'], 'fast', ['p', 'm'], true],
  [['FAST'], 'fast', ['p', 'm'], true],
  [['fast'], 'p/m', ['p', 'm'], false],
  [['other'], 'fast', ['p', 'm'], false],
  // An entry with a slash names a provider where there is one of that name, else a bare id that contains a slash.
  [['p/m'], 'router/p/m', ['router', 'p/m'], false],
  [['P/m'], 'router/p/m', ['router', 'p/m'], false],
  [['meta/m'], 'router/meta/m', ['router', 'meta/m'], true],
  [['meta/m'], 'router/meta/n', ['router', 'meta/n'], false],
  [['meta/*'], 'router/meta/m', ['router', 'meta/m'], false],
  [['router/p/m'], 'p/m', ['router', 'p/m'], true],
  [['p/m'], 'p/m', ['router', 'p/m'], true],
  [['**'], 'x', ['p', 'm'], false],
  [['p*'], 'p', ['p', 'm'], false],
  [['\u00e9'], 'e\u0301', ['p', 'm'], true],
  [['__proto__'], 'toString', ['p', 'constructor'], false],
];

/** A target may be used by the name that was asked for, or by what it is. */
function isGranted(list: string[], name: string, provider: string, model: string): boolean {
  const access = modelAccess(list);
  return access === undefined || allowsName(access, name) || allowsTarget(access, provider, model, providers);
}

await test('what a list grants', async (t) => {
  for (const [list, name, [provider, model], allowed] of rows)
    t.equal(isGranted(list, name, provider, model), allowed, `${JSON.stringify(list)}: ${name} → ${provider}/${model}`);
});

await test('a key cannot grant more than it has', async (t) => {
  const covered: [list: string[], entry: string, covered: boolean][] = [
    [[], '*', true],
    [['*'], 'anything', true],
    [['p/*'], '*', false],
    [['p/*'], 'p/*', true],
    [['p/*'], 'P/M', true],
    [['p/*'], 'q/m', false],
    [['p/*'], 'm', false],
    [['p/m'], 'p/*', false],
    [['p/m'], 'p/m', true],
    [['p/m'], 'm', false],
    [['m'], 'm', true],
    [['m'], 'q/m', true],
    [['m'], 'q/n', false],
    [['m'], 'meta/m', false],
    [['meta/*'], 'meta/m', false],
    [['meta/m'], 'meta/m', true],
    [['fast'], 'fast', true],
    [['fast'], 'p/m', false],
    [['*x'], '*', false],
    [['p/*'], 'P/Alias', false],
    [['p/alias'], 'p/alias', true],
  ];
  // An alias that is called like a model may lead elsewhere.
  const aliases = new Set(['p/alias']);
  for (const [list, entry, expected] of covered)
    t.equal(
      coversEntry(modelAccess(list), entry, { providers, aliases }),
      expected,
      `${JSON.stringify(list)} covers ${entry}`,
    );
});
