// The strategies that go by open requests and by the room left at providers, and tiers of any strategy.
import { test } from 'tap';
import { credentialsOf } from '../../../../domain/keys/credentials.ts';
import { compile } from '../../../../proxy/snapshot/compile.ts';
import { type Route, strategies } from '../../../../proxy/snapshot/snapshot.ts';
import { sampleConfig } from '../../sample-config.ts';
import { breakOpen, routeWith, stand, start, targetAt } from './routes.ts';

const firsts = (count: number, first: () => string): string => Array.from({ length: count }, first).join(' ');

await test('least_busy: the fewest open requests for its weight, and turns by weight while they are equal', async (t) => {
  const { first, order, states } = stand();
  const route = routeWith([2, 1], 'least_busy');
  const [one, other] = [0, 1].map((index) => states.of(targetAt(route, index)));
  t.equal(
    firsts(6, () => first(route)),
    'm0 m1 m0 m0 m1 m0',
    'idle',
  );
  const rows: [open: [number, number], order: string][] = [
    [[1, 0], 'm1 m0'],
    [[0, 1], 'm0 m1'],
    [[3, 1], 'm1 m0'],
    [[3, 2], 'm0 m1'],
  ];
  for (const [open, expected] of rows) {
    if (one !== undefined) one.open = open[0];
    if (other !== undefined) other.open = open[1];
    t.equal(order(route).join(' '), expected, `open: ${open.join()}`);
  }
});

await test('quota: the largest share left of the tightest limit, one that reports none counts as full', async (t) => {
  const { order, first, states } = stand();
  const route = routeWith([1, 1, 1], 'quota');
  const says = (index: number, ...headers: string[]): void =>
    states.of(targetAt(route, index)).quota.learn({ quota: headers.map((text) => Buffer.from(text)) }, start);
  t.equal(
    firsts(3, () => first(route)),
    'm0 m1 m2',
    'nothing is known',
  );
  says(
    0,
    'x-ratelimit-limit-requests',
    '100',
    'x-ratelimit-remaining-requests',
    '90',
    'x-ratelimit-reset-requests',
    '60s',
  );
  says(1, 'x-ratelimit-limit-tokens', '1000', 'x-ratelimit-remaining-tokens', '400', 'x-ratelimit-reset-tokens', '60s');
  t.equal(order(route).join(' '), 'm2 m0 m1');
  says(
    2,
    'x-ratelimit-limit-requests',
    '10',
    'x-ratelimit-remaining-requests',
    '5',
    'x-ratelimit-reset-requests',
    '60s',
  );
  t.equal(order(route).join(' '), 'm0 m2 m1');
});

/** An alias `a` over these targets. */
function tiered(strategy: Route['strategy'], aliases: readonly object[]): Route {
  const config = sampleConfig({
    providers: { p: { models: ['m0', 'm1', 'm2', 'm3'] } },
    aliases: [{ source: 'a', strategy, targets: [] }, ...aliases].slice(1) as never,
  });
  return compile(config, '', credentialsOf(undefined, [])).routes.get('a') as Route;
}

await test('every strategy orders within a tier, and the next tier is asked while none of the lower one is usable', async (t) => {
  const targets = [
    { model: 'p/m2', weight: 1, tier: 7 },
    { model: 'p/m0', weight: 1 },
    { model: 'p/m1', weight: 1 },
    { model: 'p/m3', weight: 1, tier: 7 },
  ];
  for (const strategy of strategies) {
    const { order, states } = stand();
    const route = tiered(strategy, [{ source: 'a', strategy, targets }]);
    t.same(route.tiers, [0, 0, 1, 1], strategy);
    const seen = Array.from({ length: 8 }, () => order(route));
    for (const models of seen) t.match(models.join(' '), /^m[01] m[01] m[23] m[23]$/, strategy);
    for (const index of [0, 1]) states.of(targetAt(route, index)).rest(start + 1000, start);
    t.match(order(route).join(' '), /^m[23] m[23] m0 m1$/, `${strategy}: the lower tier rests`);
    breakOpen(states, targetAt(route, 2));
    t.equal(order(route).join(' '), 'm3 m0 m1 m2', `${strategy}: one of the next tier fails`);
  }
});

await test('the second tier takes turns, too', async (t) => {
  const { first, states } = stand();
  const targets = ['m0', 'm1', 'm2'].map((model, index) => ({
    model: `p/${model}`,
    weight: 1,
    tier: index === 0 ? 1 : 2,
  }));
  const route = tiered('round_robin', [{ source: 'a', strategy: 'round_robin', targets }]);
  t.equal(
    firsts(3, () => first(route)),
    'm0 m0 m0',
  );
  states.of(targetAt(route, 0)).rest(start + 1000, start);
  t.equal(
    firsts(4, () => first(route)),
    'm1 m2 m1 m2',
  );
});

await test('tiers of aliases within aliases', async (t) => {
  const inner = {
    source: 'inner',
    strategy: 'round_robin',
    targets: [
      { model: 'p/m0', weight: 3 },
      { model: 'p/m1', weight: 1, tier: 2 },
    ],
  };
  const routeOf = (strategy: Route['strategy'], targets: readonly object[]): string => {
    const { targets: models, tiers, weights } = tiered(strategy, [inner, { source: 'a', strategy, targets }]);
    return models.map(({ model }, index) => `${model}*${weights[index]}@${tiers?.[index] ?? 0}`).join(' ');
  };
  const to = (model: string, tier?: number): object => ({ model, weight: 1, ...(tier && { tier }) });
  t.equal(
    routeOf('round_robin', [to('inner'), to('p/m2')]),
    'm0*1@0 m2*1@0 m1*1@1',
    'their tiers stand behind one another',
  );
  t.equal(
    routeOf('failover', [to('inner'), to('p/m2')]),
    'm0*1@0 m1*1@1 m2*1@2',
    'all of it comes before the next target',
  );
  t.equal(
    routeOf('round_robin', [to('p/m1'), to('inner', 2)]),
    'm1*1@0 m0*1@1',
    'a model is asked once, in its lowest tier',
  );
  t.equal(routeOf('round_robin', [to('p/m2', 3), to('p/m3', 3)]), 'm2*1@0 m3*1@0', 'one tier is none');
});
