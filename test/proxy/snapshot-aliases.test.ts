// Aliases in a snapshot: what nested ones and families lead to, with which weights, for whom, and under which policy.

import { test } from 'tap';
import { onlyPath } from '../../domain/conditions/facts.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { modelAccess } from '../../domain/keys/model-access.ts';
import { usualKinds } from '../../domain/targets/failure-kind.ts';
import { atOnce } from '../../proxy/pacing/slices.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import { compileHedge } from '../../proxy/snapshot/hedge.ts';
import { defaultRetryPolicy, mostCalls } from '../../proxy/snapshot/retry-policy.ts';
import type { Snapshot } from '../../proxy/snapshot/snapshot.ts';
import { resolve } from '../../proxy/stages/resolve.ts';
import { type SampleConfig, sampleConfig } from './sample-config.ts';

type Aliases = NonNullable<SampleConfig['aliases']>;

const providers = { a: { models: ['x', 'y'] }, b: { models: ['x', 'z'] }, c: { models: ['w'] } };
const compiled = (aliases: Aliases): Snapshot =>
  compile(sampleConfig({ providers, aliases }), '', credentialsOf(undefined, []));
const to = (...models: (string | [string, number])[]) =>
  models.map((each) => (typeof each === 'string' ? { model: each } : { model: each[0], weight: each[1] }));

/** `round_robin a/x*3 b/x*1`, or undefined. */
function routeOf(snapshot: Snapshot, name: string): string | undefined {
  const route = snapshot.routes.get(name);
  const words = route?.targets.map(({ upstream, model }, index) => `${upstream.name}/${model}*${route.weights[index]}`);
  return words === undefined ? undefined : [route?.strategy, ...words].join(' ');
}

/** The first target of a request, or the error code. */
function asked(snapshot: Snapshot, model: string, userPath: string, allowed?: readonly string[]): string {
  try {
    const access = allowed === undefined ? undefined : modelAccess(allowed);
    const [target] = resolve({ model, routingMember: undefined }, snapshot, access, onlyPath(userPath)).targets;
    return `${target?.upstream.name}/${target?.model}`;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

await test('an alias of aliases has the models of all of them, each once, with exact shares', async (t) => {
  const snapshot = compiled([
    { source: 'halves', targets: to('a/x', 'b/x') },
    { source: 'thirds', targets: to(['halves', 2], 'c/w') },
    { source: 'again', targets: to('halves', 'a/x') },
    { source: 'ordered', strategy: 'failover', targets: to('a/y', 'b/z') },
    { source: 'mixed', targets: to(['ordered', 3], 'c/w') },
    { source: 'bare', targets: to('x', 'c/w') },
    { source: 'backed', strategy: 'failover', targets: to('thirds', 'a/y', 'b/z') },
    { source: 'in order', strategy: 'failover', targets: to('a/y', 'halves') },
    { source: 'same', strategy: 'cost', targets: to('a/x', 'a/x') },
  ]);
  t.equal(routeOf(snapshot, 'thirds'), 'round_robin a/x*1 b/x*1 c/w*1');
  t.equal(routeOf(snapshot, 'again'), 'round_robin a/x*3 b/x*1', 'a target that is reached twice has both shares');
  t.equal(routeOf(snapshot, 'mixed'), 'round_robin a/y*3 b/z*0 c/w*1', 'the first of a failover takes its turns');
  t.equal(routeOf(snapshot, 'bare'), 'round_robin a/x*1 b/x*0 c/w*1', 'and so the first provider of a bare id');
  t.equal(
    routeOf(snapshot, 'backed'),
    'round_robin a/x*1 b/x*1 c/w*1 a/y*0 b/z*0',
    'a balanced alias, others behind it',
  );
  t.equal(routeOf(snapshot, 'in order'), 'failover a/y*1 a/x*0 b/x*0');
  t.equal(routeOf(snapshot, 'same'), 'failover a/x*1', 'one target is no choice');
  t.equal(snapshot.routes.get('thirds')?.targets[0], snapshot.routes.get('a/x')?.targets[0], 'targets are shared');
});

await test('a family stands for every model of its targets; an alias of the same name wins', async (t) => {
  const snapshot = compiled([
    { source: 'eu/*', targets: to(['a/*', 2], 'b/*') },
    { source: 'all/*', strategy: 'failover', targets: to('c/*', 'eu/*') },
    { source: 'eu/z', targets: to('c/w') },
    { source: 'c/*', targets: to('b/*') },
    { source: 'plain', targets: to('all/y') },
  ]);
  t.equal(routeOf(snapshot, 'eu/x'), 'round_robin a/x*2 b/x*1');
  t.equal(routeOf(snapshot, 'eu/y'), 'failover a/y*1', 'only those that have the model');
  t.equal(routeOf(snapshot, 'eu/z'), 'failover c/w*1');
  t.equal(routeOf(snapshot, 'all/z'), 'failover b/z*1 c/w*0');
  t.equal(routeOf(snapshot, 'plain'), 'failover a/y*1');
  t.equal(routeOf(snapshot, 'c/x'), 'failover b/x*1', 'a family may have the name of a provider');
  t.equal(routeOf(snapshot, 'c/w'), 'failover c/w*1', 'whose other models stay');
  for (const name of ['eu/*', 'eu/', 'eu', 'eu/w', 'all/*']) t.equal(routeOf(snapshot, name), undefined, name);
  const listed = new Set(atOnce(snapshot.routes.entries()).map(({ id }) => id));
  t.ok(['eu/x', 'eu/z', 'all/w', 'c/x', 'c/w'].every((id) => listed.has(id)));
  t.notOk(listed.has('eu/*'));
});

await test('an alias of some user paths does not exist for others, a disabled one for no path', async (t) => {
  const snapshot = compiled([
    { source: 'fast', targets: to('a/x'), user_paths: ['/team-a', '/b/app'] },
    { source: 'a/y', targets: to('c/w'), user_paths: ['/team-a'] },
    { source: 'x', targets: to('c/w'), user_paths: ['/team-a'] },
    { source: 'eu/*', targets: to('a/*'), user_paths: ['/team-a'] },
    { source: 'eu/x', targets: to('c/w'), user_paths: ['/b'] },
    { source: 'off', targets: to('a/x'), enabled: false },
    { source: 'b/z', targets: to('a/x'), enabled: false },
    { source: 'outer', targets: to('fast', 'off') },
    { source: 'nothing', targets: to('off') },
  ]);
  const cases: [string, string, string][] = [
    ['fast', '/team-a', 'a/x'],
    ['fast', '/team-a/app', 'a/x'],
    ['fast', '/b/app', 'a/x'],
    ['fast', '/b', 'model_not_found'],
    ['fast', '/team-alpha', 'model_not_found'],
    ['fast', '/', 'model_not_found'],
    ['a/y', '/team-a', 'c/w'],
    ['a/y', '/', 'a/y'],
    ['x', '/team-a', 'c/w'],
    ['x', '/', 'a/x'],
    ['eu/x', '/b', 'c/w'],
    ['eu/x', '/team-a', 'a/x'],
    ['eu/x', '/', 'model_not_found'],
    ['off', '/', 'model_not_found'],
    ['b/z', '/', 'b/z'],
    ['outer', '/', 'a/x'],
    ['nothing', '/', 'model_not_found'],
  ];
  for (const [model, path, wanted] of cases) t.equal(asked(snapshot, model, path), wanted, `${model} at ${path}`);
  t.equal(asked(snapshot, 'fast', '/', ['fast']), 'model_not_found', 'a key cannot grant it');
  t.equal(asked(snapshot, 'fast', '/team-a', ['b/*']), 'model_access_denied');
});

await test('a key that may use a family may use its names, and no other model of its targets', async (t) => {
  const snapshot = compiled([
    { source: 'eu/*', targets: to('a/*') },
    { source: 'a/*', targets: to('c/*') },
  ]);
  t.equal(asked(snapshot, 'eu/x', '/', ['eu/*']), 'a/x');
  t.equal(asked(snapshot, 'eu/x', '/', ['EU/X']), 'a/x', 'one name of it');
  t.equal(asked(snapshot, 'eu/y', '/', ['eu/x']), 'model_access_denied');
  t.equal(asked(snapshot, 'a/x', '/', ['eu/*']), 'model_access_denied');
  t.equal(asked(snapshot, 'a/w', '/', ['a/*']), 'c/w', 'the family a/*, not the provider a');
  t.equal(asked(snapshot, 'c/w', '/', ['a/*']), 'model_access_denied');
});

await test('an alias carries its policy and whether it hedges, every other name the defaults', async (t) => {
  const retry = { attempts: 2, budget: 0.5, on: ['connect', 'rate_limit'], deadline: '30s' } as const;
  const snapshot = compiled([
    { source: 'own', targets: to('x'), hedge: true, retry: { ...retry, on: [...retry.on] } },
    { source: 'usual', targets: to('own') },
  ]);
  const policy = { attempts: 2, budget: 0.5, on: new Set(['unreachable', 'rate_limit']), deadlineMs: 30_000 };
  t.match(snapshot.routes.get('own'), { hedge: { afterMs: undefined, percentile: 95, share: 0.05 }, policy });
  t.match(compileHedge({ after: '800ms' }), { afterMs: 800, share: 0.05 });
  t.match(compileHedge({ percentile: 90 }), { afterMs: undefined, percentile: 90, share: 0.1 });
  t.equal(snapshot.routes.get('usual')?.hedge, undefined);
  t.equal(snapshot.routes.get('usual')?.policy, defaultRetryPolicy, 'an inner alias decides nothing');
  t.equal(snapshot.routes.get('a/x')?.policy, defaultRetryPolicy);
  t.same(defaultRetryPolicy, {
    attempts: undefined,
    budget: undefined,
    on: new Set(usualKinds),
    deadlineMs: undefined,
  });
  const most = (attempts?: number) => [1, 3, 4, 5, 9].map((targets) => mostCalls({ attempts }, targets));
  t.same(most(), [3, 3, 4, 5, 5], 'as many calls as there are targets');
  t.same(most(2), [2, 2, 2, 2, 2]);
});

await test('prices of models are prices of targets', async (t) => {
  const pricing = { input_per_mtok: 2.5, output_per_mtok: 10 };
  const config = sampleConfig({ providers: { p: { models: [{ id: 'm', pricing }, { id: 'n' }, 'o'] } } });
  const { routes } = compile(config, '', credentialsOf(undefined, []));
  t.match(routes.get('p/m')?.targets[0]?.price, { tokens: { input: 2.5, output: 10, cachedInput: undefined } });
  for (const name of ['p/n', 'p/o']) t.equal(routes.get(name)?.targets[0]?.price, undefined);

  const listed = sampleConfig({ providers: { o: { base_url: 'https://api.openai.com/v1', models: ['gpt-4o', 'n'] } } });
  const inputOf = (name: string, usage = listed.usage): number | undefined =>
    compile({ ...listed, usage }, '', credentialsOf(undefined, [])).routes.get(name)?.targets[0]?.price?.tokens.input;
  t.equal(inputOf('o/gpt-4o'), 2.5, 'the list price');
  t.equal(inputOf('o/n'), undefined);
  t.equal(inputOf('o/gpt-4o', { ...listed.usage, list_prices: false }), undefined);
  const prices = { openai: { n: pricing } };
  t.equal(inputOf('o/n', { ...listed.usage, prices }), 2.5, 'the price of the configuration');
});
