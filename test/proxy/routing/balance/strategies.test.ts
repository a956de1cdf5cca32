// The strategies that go by speed, by price and by conversation.
import * as fc from 'fast-check';
import { test } from 'tap';
import { type Price, priceOf } from '../../../../domain/prices/price.ts';
import type { Route } from '../../../../proxy/snapshot/snapshot.ts';
import { runs } from '../../../support/extent.ts';
import { routeWith, stand, start, targetAt } from './routes.ts';

// --- least_latency

await test('the fastest comes first, and one request of 20 begins with another', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 2, maxLength: 5 }),
      fc.integer({ min: 100, max: 400 }),
      (times, requests) => {
        const { first, states } = stand();
        const route = routeWith(
          times.map(() => 1),
          'least_latency',
        );
        for (const [index, ms] of times.entries()) states.of(targetAt(route, index)).latency.observe(ms, start, false);
        const fastest = `m${times.indexOf(Math.min(...times))}`;
        const others = Array.from({ length: requests }, () => first(route)).filter((model) => model !== fastest);
        const counts = times.map((_, index) => others.filter((model) => model === `m${index}`).length);
        counts.splice(times.indexOf(Math.min(...times)), 1);
        return others.length === Math.floor(requests / 20) && Math.max(...counts) - Math.min(...counts) <= 1;
      },
    ),
    runs(200),
  );
});

await test('whatever is observed meanwhile, of any 20 requests one at most begins with another than the fastest', async () => {
  const observation = fc.record({ index: fc.nat(3), ms: fc.integer({ min: 1, max: 5000 }) });
  fc.assert(
    fc.property(fc.array(observation, { minLength: 60, maxLength: 200 }), (observations) => {
      const { first, states } = stand();
      const route = routeWith([1, 1, 1, 1], 'least_latency');
      const latencies = route.targets.map((target) => states.of(target).latency);
      latencies[0]?.observe(100, start, false);
      let explored = Number.NEGATIVE_INFINITY;
      for (const [request, { index, ms }] of observations.entries()) {
        const nowMs = start + request * 50;
        const means = latencies.map((latency) => latency.mean() ?? Number.POSITIVE_INFINITY);
        if (first(route, nowMs) !== `m${means.indexOf(Math.min(...means))}`) {
          if (request - explored < 20) return false;
          explored = request;
        }
        latencies[index]?.observe(ms, nowMs, false);
      }
      return explored >= observations.length - 20;
    }),
    runs(200),
  );
});

await test('of targets without observations each is tried, and none is forgotten', async (t) => {
  const { first, order, states } = stand();
  const route = routeWith([1, 1, 1], 'least_latency');
  const observe = (index: number, ms: number): void =>
    states.of(targetAt(route, index)).latency.observe(ms, start, false);
  t.same(
    Array.from({ length: 6 }, () => first(route)),
    ['m0', 'm1', 'm2', 'm0', 'm1', 'm2'],
    'while nothing is known they take turns',
  );
  observe(0, 100);
  t.same(order(route), ['m0', 'm1', 'm2']);
  observe(2, 50);
  t.same(order(route), ['m2', 'm0', 'm1'], 'the unknown come last');
  const explored = Array.from({ length: 20 }, () => first(route)).filter((model) => model !== 'm2');
  t.same(explored, ['m1'], 'and are explored before the slow');
  observe(1, 10);
  t.equal(first(route), 'm1');
});

await test('a target that became slow is left within seconds, and found again when it is fast', async (t) => {
  const { first, states } = stand();
  const route = routeWith([1, 1], 'least_latency');
  const [one, other] = [0, 1].map((index) => states.of(targetAt(route, index)).latency);
  const firsts: string[] = [];
  for (let request = 0; request < 6000; request += 1) {
    const nowMs = start + request * 10;
    const isSlow = request >= 1000 && request < 3000;
    const model = first(route, nowMs);
    firsts.push(model);
    if (model === 'm0') one?.observe(isSlow ? 900 : 20, nowMs, false);
    else other?.observe(100, nowMs, false);
  }
  const share = (from: number, to: number): number =>
    firsts.slice(from, to).filter((model) => model === 'm0').length / (to - from);
  t.ok(share(100, 1000) >= 0.94, 'fast');
  t.ok(share(1300, 3000) <= 0.06, `slow: ${share(1300, 3000)}`);
  t.ok(share(5500, 6000) >= 0.94, `fast again: ${share(5500, 6000)}`);
});

// --- cost

await test('the cheapest comes first, the unpriced last, equals in declared order', async (t) => {
  const priced = (...prices: (Price | undefined)[]): Route => {
    const route = routeWith(
      prices.map(() => 1),
      'cost',
    );
    const targets = route.targets.map((target, index) => ({ ...target, price: prices[index] }));
    return { ...route, targets };
  };
  const price = (input: number, output: number): Price => priceOf({ input_per_mtok: input, output_per_mtok: output });
  const rows: [route: Route, order: string][] = [
    [priced(price(3, 15), price(0.1, 0.4), price(1, 5)), 'm1 m2 m0'],
    [priced(undefined, price(3, 15), undefined, price(0, 0)), 'm3 m1 m0 m2'],
    [priced(price(1, 5), price(2, 2)), 'm0 m1'],
    [priced(price(1, 6), price(2, 2)), 'm1 m0'],
    [priced(price(1, 1), price(1, 1)), 'm0 m1'],
    [priced(undefined, undefined), 'm0 m1'],
    [priced(priceOf({ per_request: 0 }), price(9, 9)), 'm1 m0'],
  ];
  const { order, states } = stand();
  for (const [route, expected] of rows) t.equal(order(route).join(' '), expected);
  const route = priced(price(3, 15), price(1, 5), price(2, 10));
  states.of(targetAt(route, 1)).rest(start + 1000, start);
  t.equal(order(route).join(' '), 'm2 m0 m1');
});

// --- session_affinity

const threads = Array.from({ length: 2000 }, (_, index) => `session-${index}`);
const affine = (models: readonly string[], weights: readonly number[] = models.map(() => 1)): Route =>
  routeWith(weights, 'session_affinity', models);

await test('a thread stays with its target: across a reload, on every proxy, in whatever order targets are declared', async () => {
  const models = ['a', 'b', 'c', 'd'];
  const orders = fc.shuffledSubarray(models, { minLength: models.length });
  fc.assert(
    fc.property(fc.string(), fc.array(fc.string(), { maxLength: 20 }), orders, (thread, others, reordered) => {
      const { order } = stand();
      const before = order(affine(models), start, thread).join(' ');
      for (const other of others) order(affine(models), start, other);
      const after = [
        order(affine(models), start + 60_000, thread),
        order(affine(reordered), start, thread),
        stand().order(affine(models), start, thread),
      ];
      return after.every((each) => each.join(' ') === before);
    }),
    runs(200),
  );
});

await test('a target that is added or removed moves only its own share of the threads', async () => {
  const model = fc.stringMatching(/^[a-z0-9-]{1,12}$/);
  fc.assert(
    fc.property(fc.uniqueArray(model, { minLength: 2, maxLength: 6 }), (models) => {
      const { first } = stand();
      const some = threads.slice(0, 200);
      const added = models.at(-1);
      const [without, withIt] = [affine(models.slice(0, -1)), affine(models)];
      return some.every((thread) => {
        const after = first(withIt, start, thread);
        return after === added || after === first(without, start, thread);
      });
    }),
    runs(100),
  );
});

await test('threads are spread by the weights', async (t) => {
  const { first } = stand();
  const route = affine(['a', 'b', 'c'], [1, 2, 5]);
  const shares = ['a', 'b', 'c'].map(
    (name) => threads.filter((thread) => first(route, start, thread) === name).length / threads.length,
  );
  for (const [index, share] of [1 / 8, 2 / 8, 5 / 8].entries())
    t.ok(Math.abs((shares[index] ?? 0) - share) < 0.03, `${shares[index]} of ${share}`);
});

await test('the threads of an unusable target go to the next in their own order, and come back', async (t) => {
  const { order, first, states } = stand();
  const route = affine(['a', 'b', 'c', 'd']);
  const before = threads.map((thread) => order(route, start, thread));
  states.of(targetAt(route, 0)).rest(start + 1000, start);
  const heirs = new Set<string>();
  for (const [index, thread] of threads.entries()) {
    const expected = (before[index] ?? []).filter((model) => model !== 'a');
    if (before[index]?.[0] === 'a') heirs.add(expected[0] ?? '');
    if (order(route, start, thread).join(' ') !== [...expected, 'a'].join(' ')) t.fail(thread);
  }
  t.equal(heirs.size, 3, 'all others take their part');
  t.ok(threads.every((thread, index) => first(route, start + 1000, thread) === before[index]?.[0]));
});

await test('requests without a thread take turns', async (t) => {
  const { first } = stand();
  const route = affine(['a', 'b'], [2, 1]);
  t.same(
    Array.from({ length: 6 }, () => first(route)),
    ['a', 'b', 'a', 'a', 'b', 'a'],
  );
});
