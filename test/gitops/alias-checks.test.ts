// Any aliases at all: files are refused exactly when operators could not set the same aliases whole, and every route leads somewhere.
import * as fc from 'fast-check';
import { test } from 'tap';
import { stringify } from 'yaml';
import { aliasesInForce, mergeAliases } from '../../domain/aliases/merge-aliases.ts';
import { modelNames } from '../../domain/aliases/model-names.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import type { Alias } from '../../schemas/types.ts';
import { runs } from '../support/extent.ts';
import { entitled, one } from './load-fixtures.ts';

const providers = {
  p: { type: 'openai', models: ['x', 'y', 'q/x'] },
  q: { type: 'openai', models: ['x', 'z'] },
};
const names = ['a', 'b', 'c', 'x', 'p/x', 'q/x', 'e/x', 'f/y', 'e/q/x'];
const families = ['e/*', 'f/*', 'p/*', 'q/*'];

const aliasOf = (sources: readonly string[], models: readonly string[]): fc.Arbitrary<Alias> =>
  fc.record({
    source: fc.constantFrom(...sources),
    targets: fc.array(fc.record({ model: fc.constantFrom(...models), weight: fc.integer({ min: 1, max: 9 }) }), {
      minLength: 1,
      maxLength: 3,
    }),
    strategy: fc.constantFrom('round_robin' as const, 'failover' as const, 'cost' as const),
    enabled: fc.boolean(),
    hedge: fc.constant(false),
  });
const anyAliases = fc.uniqueArray(
  fc.oneof(aliasOf(names, [...names, 'y', 'z', 'p/y', 'q/z']), aliasOf(families, families)),
  { selector: ({ source }) => source, maxLength: 7 },
);

/** The names of routes that have no target, one twice, or no share at the first. */
function wrongRoutes(config: AssembledConfig): string[] {
  const { routes } = compile(config, '', credentialsOf(undefined, []));
  return [...routes.keys()].filter((name) => {
    const { targets = [], weights = [] } = routes.get(name) ?? {};
    const isSound = targets.length === weights.length && new Set(targets).size === targets.length;
    return !isSound || (weights[0] ?? 0) <= 0;
  });
}

await test('files and operators are judged alike, and every route leads somewhere', async (t) => {
  const declared = one(stringify({ providers }), entitled).config;
  if (declared === undefined) throw new Error('the providers have a mistake');
  let good = 0;
  fc.assert(
    fc.property(anyAliases, (aliases) => {
      const { config } = one(stringify({ providers, aliases }), entitled);
      const manual = aliases.map((alias) => {
        return { key: alias.source, value: alias, createdAt: '', updatedAt: '', updatedBy: '' };
      });
      const rows = mergeAliases([], manual, modelNames(declared));
      const isWhole = rows.every(({ problem }) => problem === undefined);
      const merged = { ...declared, aliases: aliasesInForce(rows) };
      if (config !== undefined) good += 1;
      const wrong = [merged, ...(config === undefined ? [] : [config])].flatMap(wrongRoutes);
      return isWhole === (config !== undefined) && wrong.length === 0;
    }),
    runs(500),
  );
  t.ok(good > 0);
});

await test('settings of retries that never help are warned of, where there is another target', async (t) => {
  const targets = [{ model: 'slow/m' }, { model: 'other/m' }];
  const config = {
    providers: {
      slow: { type: 'openai', models: ['m'], timeouts: { connect: '3s' } },
      other: { type: 'openai', models: ['m'] },
    },
    aliases: [
      { source: 'after-nothing', targets, retry: { on: [] } },
      { source: 'once', targets, retry: { attempts: 1 } },
      { source: 'once-with-hedge', targets, hedge: true, retry: { attempts: 1 } },
      { source: 'too-late', targets, retry: { deadline: '3s' } },
      { source: 'in-time', targets, retry: { deadline: '4s' } },
      { source: 'alone', target: 'slow/m', retry: { on: [], attempts: 1, deadline: '1s' } },
    ],
  };
  const warnings = one(stringify(config), entitled).warnings.filter(({ path }) => path?.includes('retry'));
  t.same(
    warnings.map(({ message }) => message),
    [
      'is empty, so no other target is asked when the first one fails',
      'allows one call, so no other target is ever asked',
      'allows one call, so neither a retry nor a hedge is ever made',
      'is over when "slow" could not be reached (timeouts.connect is 3s): then no other target is asked',
    ],
  );
});

await test('a mirror that is a target of its own alias is doubtful, one of another model is not', (t) => {
  const aliases = [
    { source: 'a', targets: [{ model: 'p/x' }, { model: 'q/x' }], mirror: { target: 'q/x', share: 0.1 } },
    { source: 'b', target: 'p/x', mirror: { target: 'q/z', share: 0.1 } },
    { source: 'e/*', target: 'p/*', mirror: { target: 'p/y', share: 0.1 } },
  ];
  const { warnings } = one(stringify({ providers, aliases }), entitled);
  const said = warnings.map(({ message }) => message).filter((message) => message.includes('too:'));
  t.equal(said.length, 2);
  t.match(said, [/^is a target of "a", too/, /^is a target of "e\/\*", too/]);
  t.end();
});
