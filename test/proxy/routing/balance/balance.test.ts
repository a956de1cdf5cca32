// The order of targets: round robin by weights, the unusable behind the usable, and the probe before all.
import * as fc from 'fast-check';
import { test } from 'tap';
import { modelAccess } from '../../../../domain/keys/model-access.ts';
import { priceOf } from '../../../../domain/prices/price.ts';
import { createBalance } from '../../../../proxy/routing/balance/balance.ts';
import { Turns } from '../../../../proxy/routing/balance/turns.ts';
import { compile } from '../../../../proxy/snapshot/compile.ts';
import { strategies } from '../../../../proxy/snapshot/snapshot.ts';
import { resolve } from '../../../../proxy/stages/resolve.ts';
import { TargetStates } from '../../../../proxy/targets/target-states.ts';
import { runs } from '../../../support/extent.ts';
import { sampleConfig } from '../../sample-config.ts';
import { named, open } from '../../stage-parts.ts';
import { breakOpen, routeWith, stand, start, targetAt } from './routes.ts';

await test('a bare id always begins with the provider that is declared first', async (t) => {
  const providers = { q: { models: ['m'] }, p: { models: ['m'] }, o: { models: ['m'] } };
  const snapshot = compile(sampleConfig({ providers }), '', open);
  const { balance } = stand();
  const order = (access?: string[]) =>
    balance(resolve(named('m'), snapshot, access && modelAccess(access)), { nowMs: start, thread: undefined }).map(
      ({ upstream }) => upstream.name,
    );
  for (let request = 0; request < 3; request += 1) t.same(order(), ['q', 'p', 'o']);
  for (let request = 0; request < 3; request += 1) t.same(order(['o/m', 'p/*']), ['p', 'o']);
});

await test('the granted part of an alias is balanced by itself', async (t) => {
  const snapshot = compile(
    sampleConfig({
      providers: { p: { models: ['a', 'b', 'c'] } },
      aliases: [{ source: 'mix', targets: [{ model: 'p/a', weight: 9 }, { model: 'p/b' }, { model: 'p/c' }] }],
    }),
    '',
    open,
  );
  const access = modelAccess(['p/b', 'p/c']);
  const { first } = stand();
  const firsts = Array.from({ length: 6 }, () => first(resolve(named('mix'), snapshot, access)));
  t.same(firsts, ['b', 'c', 'b', 'c', 'b', 'c']);
  const turns = Array.from({ length: 11 }, () => first(resolve(named('mix'), snapshot, undefined)));
  t.equal(turns.filter((model) => model === 'a').length, 9, 'and leaves the turns of others alone');
});

await test('weights of 5, 1 and 1 are spread smoothly', async (t) => {
  const { first } = stand();
  const route = routeWith([5, 1, 1]);
  const order = Array.from({ length: 14 }, () => first(route));
  const cycle = ['m0', 'm0', 'm1', 'm0', 'm2', 'm0', 'm0'];
  t.same(order, [...cycle, ...cycle]);
});

await test('with copies of its turns, the next order is foretold, and stays the next one', async (t) => {
  const turns = new Turns();
  const states = new TargetStates();
  const [balance, foretell] = [createBalance(states, turns), createBalance(states, { of: (of) => turns.copyOf(of) })];
  const context = { nowMs: start, thread: undefined };
  for (const strategy of ['round_robin', 'least_latency'] as const) {
    const route = routeWith([5, 1, 1], strategy);
    for (let request = 0; request < 9; request += 1) {
      const foretold = [foretell(route, context), foretell(route, context)];
      const order = balance(route, context);
      t.same(foretold, [order, order], `${strategy} ${request}`);
    }
  }
});

const weightLists = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 });

await test('over any run each target comes first as its weight says: exactly over a cycle, else by less than two requests', async () => {
  fc.assert(
    fc.property(weightLists, fc.nat(200), fc.nat(100), (weights, skipped, reloadAt) => {
      const { first } = stand();
      let route = routeWith(weights);
      for (let request = 0; request < skipped; request += 1) first(route);
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      const counts = weights.map(() => 0);
      for (let request = 1; request <= total; request += 1) {
        if (request === reloadAt) route = routeWith(weights);
        const index = Number(first(route).slice(1));
        counts[index] = (counts[index] ?? 0) + 1;
        const skew = weights.map((weight, each) => Math.abs((counts[each] ?? 0) - (request * weight) / total));
        if (Math.max(...skew) >= 2) return false;
      }
      return JSON.stringify(counts) === JSON.stringify(weights);
    }),
    runs(300),
  );
});

await test('a target that comes back gets its share and no more', async () => {
  const twoOrMore = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 2, maxLength: 5 });
  fc.assert(
    fc.property(twoOrMore, fc.nat(300), fc.nat(50), (weights, awayFor, before) => {
      const { first, states } = stand();
      const route = routeWith(weights);
      for (let request = 0; request < before; request += 1) first(route);
      states.of(targetAt(route, 0)).rest(start + 1000, start);
      for (let request = 0; request < awayFor; request += 1) {
        if (first(route) === 'm0') return false;
      }
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      const counts = weights.map(() => 0);
      for (let request = 1; request <= total * 3; request += 1) {
        const index = Number(first(route, start + 1000).slice(1));
        counts[index] = (counts[index] ?? 0) + 1;
        const skew = weights.map((weight, each) => Math.abs((counts[each] ?? 0) - (request * weight) / total));
        if (Math.max(...skew) > weights.length) return false;
      }
      return true;
    }),
    runs(300),
  );
});

await test('the turn of an unusable target goes to the others by their weights', async (t) => {
  const { first, states } = stand();
  const route = routeWith([5, 2, 1]);
  states.of(targetAt(route, 0)).rest(start + 1000, start);
  const firsts = Array.from({ length: 9 }, () => first(route));
  t.same([firsts.filter((model) => model === 'm1').length, firsts.filter((model) => model === 'm2').length], [6, 3]);
});

await test('the other targets follow in declared order, and nothing new is made where nothing changes', async (t) => {
  const { order, balance } = stand();
  const route = routeWith([1, 1, 1]);
  const orders = Array.from({ length: 3 }, () => order(route).join(' '));
  t.same(orders, ['m0 m1 m2', 'm1 m0 m2', 'm2 m0 m1']);
  const context = { nowMs: start, thread: undefined };
  for (const same of [routeWith([3]), routeWith([1, 1], 'failover'), routeWith([1, 1], 'cost')])
    t.equal(balance(same, context), same.targets);
});

await test('an alias of forty targets is balanced as well', async (t) => {
  const { order } = stand();
  const route = routeWith(Array.from({ length: 40 }, () => 1));
  const firsts = Array.from({ length: 40 }, () => order(route)[0]);
  t.equal(new Set(firsts).size, 40);
  t.equal(new Set(order(route)).size, 40);
});

await test('a reload that leaves an alias as it is leaves its turn as it is', async (t) => {
  const { first } = stand();
  const [before, after, changed] = [routeWith([1, 1]), routeWith([1, 1]), routeWith([2, 1])];
  t.same(
    [before, after, before, changed, before].map((route) => first(route)),
    ['m0', 'm1', 'm0', 'm0', 'm1'],
    'a changed alias begins anew, beside the old one',
  );
});

await test('whatever the strategy, the unusable follow: the soonest usable first, open breakers last', async (t) => {
  for (const strategy of strategies) {
    const { order, states } = stand();
    const route = routeWith([1, 1, 1, 1, 1], strategy);
    breakOpen(states, targetAt(route, 0));
    states.of(targetAt(route, 1)).rest(start + 30_000, start);
    states
      .of(targetAt(route, 2))
      .quota.learn({ quota: ['x-ratelimit-remaining-requests', '0'].map((text) => Buffer.from(text)) }, start);
    for (let request = 0; request < 4; request += 1) {
      const [first, second, ...rest] = order(route, start, 'thread');
      t.same(new Set([first, second]), new Set(['m3', 'm4']), strategy);
      t.same(rest, ['m2', 'm1', 'm0'], strategy);
    }
    for (const index of [3, 4]) breakOpen(states, targetAt(route, index));
    t.same(
      order(route, start, 'thread'),
      ['m2', 'm1', 'm0', 'm3', 'm4'],
      `${strategy}: all are there, though none is usable`,
    );
  }
});

await test('whatever the strategy, a target without a share follows those that are usable and have one', async (t) => {
  for (const strategy of strategies.filter((each) => each !== 'failover')) {
    const { order, first, states } = stand();
    const route = { ...routeWith([1, 1, 1, 1], strategy), weights: [2, 0, 1, 0] };
    const price = priceOf({ input_per_mtok: 0, output_per_mtok: 0 });
    const cheap = {
      ...route,
      targets: route.targets.map((target, index) => (index % 2 === 1 ? { ...target, price } : target)),
    };
    for (const target of route.targets.filter((_, index) => index % 2 === 1))
      states.of(target).latency.observe(1, start, false);
    for (let request = 0; request < 60; request += 1) {
      const models = order(cheap, start, `thread ${request}`);
      t.same(models.slice(2), ['m1', 'm3'], strategy);
    }
    for (const index of [0, 2]) states.of(targetAt(cheap, index)).rest(start + 1000, start);
    t.same(order(cheap, start, 'thread').slice(0, 2), ['m1', 'm3'], `${strategy}: in declared order`);
    t.ok(['m0', 'm2'].includes(first(cheap, start + 1000, 'thread')), strategy);
  }
});

await test('whatever the strategy, a half-open breaker makes its target the first choice of one request', async (t) => {
  for (const strategy of strategies) {
    const { order, first, states } = stand();
    const route = routeWith([1, 1, 1], strategy);
    breakOpen(states, targetAt(route, 2));
    const dueMs = start + 1000;
    t.not(first(route, dueMs - 1, 'thread'), 'm2', strategy);
    t.equal(first(route, dueMs, 'thread'), 'm2', strategy);
    const { breaker } = states.of(targetAt(route, 2));
    const probe = breaker.begin(dueMs);
    t.equal(order(route, dueMs, 'thread')[2], 'm2', `${strategy}: the next request goes elsewhere`);
    breaker.succeeded(dueMs, probe);
    const firsts = new Set(Array.from({ length: 60 }, (_, request) => first(route, dueMs, `thread ${request}`)));
    if (strategy !== 'failover' && strategy !== 'cost') t.ok(firsts.has('m2'), `${strategy}: it is one of many again`);
  }
});

await test('a target that rests is not probed', async (t) => {
  const { first, states } = stand();
  const route = routeWith([1, 1]);
  breakOpen(states, targetAt(route, 1));
  states.of(targetAt(route, 1)).rest(start + 5000, start);
  t.equal(first(route, start + 2000), 'm0');
  t.equal(first(route, start + 5000), 'm1');
});
