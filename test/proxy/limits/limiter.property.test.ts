// The engine against an exact log: random rules, requests, reloads, resets, gaps and restarts.
import { deepEqual } from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'tap';
import { compareRules, type Rule } from '../../../domain/rules/rule.ts';
import { createLimiter } from '../../../proxy/limits/limiter.ts';
import { extent, isFull, runs } from '../../support/extent.ts';
import { childFinder, type Matched } from './oracle.ts';
import { ruleOf } from './rule-of.ts';
import { story } from './stories.ts';
import { matchesOf, start, World } from './world.ts';

const wanted = extent(50_000, 20_000);
const seed = Number(process.env['LIMITER_SEED'] ?? (isFull ? Date.now() % 2 ** 31 : 20_261_122));

await test('whatever happens, the engine says what an exact log allows', { timeout: 90_000 }, async (t) => {
  t.comment(`seed ${seed} (LIMITER_SEED repeats it)`);
  const total = { operations: 0, admitted: 0, refused: 0, restarts: 0, reloads: 0 };
  fc.assert(
    fc.property(story, (steps) => {
      const world = new World();
      world.run(steps);
      for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += world.seen[key];
    }),
    { numRuns: extent(2_000, 240), seed },
  );
  t.comment(JSON.stringify(total));
  t.ok(total.operations >= wanted, `${total.operations} operations`);
  t.ok(total.admitted > wanted / 10 && total.refused > wanted / 25, 'of which many were admitted and many refused');
});

await test('with 10,000 rules every request is decided as by trying them all', { timeout: 60_000 }, async (t) => {
  const random = fc.sample(fc.tuple(fc.nat(2 ** 30), fc.nat(2 ** 30), fc.nat(2 ** 30)), { ...runs(14_000), seed });
  const word = (value: number): string => ['a', 'b', 'team', 'x', 'tea', 'B'][value % 6] ?? 'a';
  const path = (value: number): string =>
    `/${Array.from({ length: 1 + (value % 4) }, (_, depth) => `${word(value >> (3 * depth))}${(value >> 5) % 9}`).join('/')}`;
  const wants = new Map<string, Rule>();
  for (const [one, two, three] of random) {
    const period = [0, 60, 3_600, 1 + (three % 100)][three % 4] ?? 60;
    const scope = (['user_path', 'user_path', 'provider', 'model'] as const)[two % 4] ?? 'user_path';
    const name = `${word(one)}${one % 200}`;
    const model = one % 2 === 0 ? name : `${word(two)}${two % 200}/${name}`;
    const subject = { user_path: path(one), provider: name, model }[scope];
    const rule = ruleOf(scope, subject, period, {
      maxRequests: 1 + (two % 3),
      perChild: scope === 'user_path' && one % 5 === 0,
    });
    wants.set(rule.key, rule);
  }
  const asks = extent(1_500, 300);
  for (let index = 0; wants.size < 10_000; index += 1) {
    const rule = ruleOf('user_path', `/filler/${index}`, 60, { maxRequests: 1 });
    wants.set(rule.key, rule);
  }
  const rules = [...wants.values()].slice(0, 10_000).sort(compareRules);
  const limiter = createLimiter();
  limiter.reconcile(rules);
  const used = new Map<string, number>();
  let refused = 0;
  for (const [one, two] of random.slice(0, asks)) {
    const asked: Matched =
      two % 3 === 0
        ? { provider: `${word(two)}${two % 200}`.toUpperCase(), model: `${word(one)}${one % 200}` }
        : { path: path(one) };
    const childIn = childFinder(asked);
    const matching = rules.flatMap((rule) => {
      const child = childIn(rule);
      return child === undefined ? [] : [{ rule, id: `${rule.key} ${child}` }];
    });
    const full = matching.filter(({ rule, id }) => (used.get(id) ?? 0) >= (rule.maxRequests ?? 0));
    const { rejection } = limiter.admit(matchesOf(limiter, asked), start, 'reject');
    deepEqual(
      rejection?.exhausted.map(({ rule }) => rule.key) ?? [],
      full.map(({ rule }) => rule.key),
    );
    if (rejection !== undefined) refused += 1;
    else for (const { id } of matching) used.set(id, (used.get(id) ?? 0) + 1);
  }
  t.equal(limiter.rules().length, 10_000);
  t.ok(refused > asks / 50 && refused < asks, `${refused} of ${asks} refused`);
});
