// What the limiter tells of itself, one claim per test: which rules count, what each has decided, how full it is, and what is counted now.

import { test } from 'tap';
import { rulesOfConsumer, rulesOfTarget } from '../../../proxy/limits/counted-rules.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { ask, decided, everyRow, lease, limiterOf, minute, start } from './limiter-calls.ts';
import { ruleOf } from './rule-of.ts';

/** Each rule's decisions, those that have not happened included. */
const decisionsOf = (limiter: Limiter): string[][] =>
  [...limiter.decisionsByRule()].map((counts) =>
    counts.map(({ scope, dimension, outcome, count }) => `${scope} ${dimension} ${outcome} ${count}`),
  );

await test('a request counts under all its rules, under the windows of its user path, or under none', (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', minute, { maxRequests: 5 }),
    ruleOf('user_path', '/', 0, { maxRequests: 5 }),
    ruleOf('provider', 'p', minute, { maxRequests: 5 }),
  );
  const target = { upstream: { name: 'p' }, model: 'm' };
  const keysOf = (counts: 'everything' | 'user_paths' | 'nothing'): string[][] =>
    [rulesOfConsumer(counts, '/a', limiter), rulesOfTarget(counts, target, limiter)].map((matches) =>
      limiter.report(matches, start).map(({ rule }) => `${rule.scope} ${rule.periodSeconds}`),
    );
  t.same(keysOf('everything'), [['user_path 0', 'user_path 60'], ['provider 60']]);
  t.same(keysOf('user_paths'), [['user_path 60'], []]);
  t.same(keysOf('nothing'), [[], []]);
  t.end();
});

await test('what a rule can refuse is told before it happens; what it admits, once it has', (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', minute, { maxRequests: 2, maxTokens: 9 }),
    ruleOf('user_path', '/', 0, { maxRequests: 9 }),
    ruleOf('user_path', '/', 3_600, { maxRequests: 9, mode: 'shadow' }),
    ruleOf('provider', 'p', minute, { maxRequests: 1 }),
  );
  t.same(decisionsOf(limiter), [
    ['provider requests reject 0', 'provider requests skip_target 0'],
    ['user_path concurrent reject 0'],
    ['user_path requests reject 0', 'user_path tokens reject 0'],
    ['user_path requests shadow_reject 0'],
  ]);
  t.same(limiter.decisions(), []);
  for (let count = 0; count < 3; count += 1) ask(limiter, '/');
  limiter.admit(limiter.forTarget('p', 'm'), start);
  limiter.admit(limiter.forTarget('p', 'm'), start);
  limiter.admit(limiter.forTarget('p', 'm'), start, 'skip_target');
  t.same(decisionsOf(limiter), [
    ['provider requests allow 1', 'provider requests reject 1', 'provider requests skip_target 1'],
    ['user_path concurrent allow 2', 'user_path concurrent reject 0'],
    [
      'user_path requests allow 2',
      'user_path requests reject 1',
      'user_path tokens allow 2',
      'user_path tokens reject 0',
    ],
    ['user_path requests allow 2', 'user_path requests shadow_reject 0'],
  ]);
  t.end();
});

await test('the figures of a heartbeat: what is used and held, and how often each rule has refused', (t) => {
  const window = ruleOf('user_path', '/', minute, { maxRequests: 2, maxTokens: 100, epoch: 4 });
  const slots = ruleOf('user_path', '/', 0, { maxRequests: 9 });
  const unused = ruleOf('user_path', '/other', minute, { maxRequests: 9 });
  const template = ruleOf('user_path', '/c', minute, { maxRequests: 1, perChild: true });
  const limiter = limiterOf(window, slots, unused, template);
  t.same(atOnce(limiter.live(start)), { counters: [], windows: [], refused: [] });
  lease(limiter, '/').release();
  lease(limiter, '/c/x');
  t.same(atOnce(limiter.live(start)).refused, [], 'an admission is no refusal, in no dimension');
  limiter.charge(limiter.forUserPath('/'), 7, start);
  t.equal(ask(limiter, '/c/x'), false);
  t.same(atOnce(limiter.live(start)), {
    counters: [
      [slots.key, 0, 0, 0, 1, 0],
      [window.key, 4, 2, 7, 0, 0],
    ],
    windows: [null, [start, start + 61_000]],
    refused: [
      [window.key, 1],
      [template.key, 1],
    ],
  });
  t.end();
});

await test('how full the rules are is told of those that are asked for, in their order', (t) => {
  const first = ruleOf('user_path', '/', minute, { maxRequests: 4, maxTokens: 10 });
  const slots = ruleOf('user_path', '/c', 0, { maxRequests: 2, perChild: true });
  const limiter = limiterOf(first, slots, ruleOf('user_path', '/', 3_600, { maxRequests: 4 }));
  for (const path of ['/c/x', '/c/x', '/c/y']) lease(limiter, path);
  limiter.charge(limiter.forUserPath('/'), 15, start);
  const steps = [...limiter.utilisationByRule(new Set([slots.id, first.id]), start)];
  t.same(
    steps.flatMap(({ figures }) => figures).map(({ rule, ...figure }) => ({ key: rule.key, ...figure })),
    [
      { key: first.key, dimension: 'requests', ratio: 0.75, inFlight: 0, reserved: 0 },
      { key: first.key, dimension: 'tokens', ratio: 1.5, inFlight: 0, reserved: 0 },
      { key: slots.key, dimension: 'concurrent', ratio: 1, inFlight: 3, reserved: 0 },
    ],
  );
  t.same(
    steps.map(({ counters }) => counters),
    [1, 2],
  );
  const blocked = limiterOf(ruleOf('user_path', '/', minute, { maxRequests: 0, blockedUntilMs: start + 1 }));
  const [block] = [...blocked.utilisationByRule(new Set(blocked.rules().map(({ id }) => id)), start)];
  t.equal(block?.figures[0]?.ratio, 1, 'a block is full');
  t.end();
});

await test('a template with many children is read a thousand at a time', (t) => {
  const template = ruleOf('user_path', '/c', minute, { maxRequests: 2, perChild: true });
  const limiter = limiterOf(template);
  for (let child = 0; child < 2_001; child += 1) ask(limiter, `/c/${child}`);
  ask(limiter, '/c/1500');
  const steps = [...limiter.utilisationByRule(new Set([template.id]), start)];
  t.same(
    steps.map(({ counters, figures }) => [counters, figures.map(({ ratio }) => ratio)]),
    [
      [1_000, []],
      [1_000, []],
      [1, [1]],
    ],
  );
  t.end();
});

await test('which rules there are is told apart from whether they are in force', (t) => {
  const rule = ruleOf('provider', 'p', minute, { maxRequests: 1 });
  const limiter = createLimiter();
  t.same([limiter.rules(), limiter.knows(rule.key), limiter.limitsTargets], [[], false, false]);
  limiter.reconcile([rule]);
  t.same([limiter.rules(), limiter.knows(rule.key), limiter.limitsTargets], [[rule], true, true]);
  limiter.reconcile([rule], { isEnforced: false });
  t.same([limiter.rules(), limiter.knows(rule.key), limiter.limitsTargets], [[], true, false]);
  limiter.reconcile([ruleOf('user_path', '/', minute, { maxRequests: 1 })]);
  t.equal(limiter.limitsTargets, false, 'a user path is no target');
  for (const subject of ['m', 'p/m']) {
    limiter.reconcile([ruleOf('model', subject, minute, { maxRequests: 1 })]);
    t.equal(limiter.limitsTargets, true, subject);
  }
  t.end();
});

await test('rules on a bare and on a qualified model are told in the order of their names', (t) => {
  for (const model of ['a', 'z']) {
    const rules = [model, `p/${model}`].map((subject) => ruleOf('model', subject, minute, { maxRequests: 1 }));
    const limiter = limiterOf(...rules);
    const found = limiter.report(limiter.forTarget('p', model), start).map(({ subject }) => subject);
    t.same(found, found.toSorted(), model);
    t.equal(found.length, 2);
  }
  t.end();
});

await test('the history of a rule ends with it, with its last slot where it has slots', (t) => {
  const window = ruleOf('user_path', '/', minute, { maxRequests: 1 });
  const slots = ruleOf('user_path', '/', 0, { maxRequests: 1 });
  const limiter = limiterOf(window, slots);
  const held = lease(limiter, '/');
  limiter.reconcile([]);
  limiter.reconcile([window, slots]);
  t.same(decided(limiter), { 'concurrent allow': 1 }, 'the slot is held yet');
  limiter.reconcile([]);
  limiter.sweep(start);
  held.release();
  limiter.sweep(start);
  limiter.reconcile([window, slots]);
  t.same(limiter.decisions(), []);
  lease(limiter, '/').release();
  limiter.reconcile([]);
  limiter.reconcile([window, slots]);
  t.same(limiter.decisions(), [], 'nobody held a slot');
  t.end();
});

await test('tokens count under the rules that limit them, and under shadow rules that admitted the request', (t) => {
  const plain = limiterOf(
    ruleOf('user_path', '/', minute, { maxRequests: 9 }),
    ruleOf('user_path', '/', 0, { maxRequests: 9 }),
  );
  ask(plain, '/');
  plain.charge(plain.forUserPath('/'), 5, start);
  t.equal(plain.countsTokens(plain.forUserPath('/')), false);
  t.same(
    everyRow(plain).map(({ tokens }) => tokens),
    [[]],
  );

  const shadow = ruleOf('user_path', '/', 3_600, { maxTokens: 10, mode: 'shadow' });
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxTokens: 100 }), shadow);
  const path = limiter.forUserPath('/');
  const usedTokens = (): number[] => limiter.report(path, start).map(({ tokensUsed }) => tokensUsed);
  t.equal(limiter.countsTokens(path), true);
  limiter.charge(path, 5, start);
  t.same(usedTokens(), [5, 0], 'without an admission no shadow rule has admitted');
  limiter.charge(path, 10, start, lease(limiter, '/'));
  t.same(usedTokens(), [15, 10]);
  limiter.charge(path, 10, start, lease(limiter, '/'));
  t.same(usedTokens(), [25, 10], 'the shadow rule would have refused this one');
  t.end();
});

await test('a lease is dated when a window counts it in a slice that is over, or was reset', (t) => {
  const window = ruleOf('user_path', '/', minute, { maxRequests: 9 });
  const limiter = limiterOf(window, ruleOf('user_path', '/', 0, { maxRequests: 9 }));
  const held = lease(limiter, '/');
  t.same(
    [start, start + 1, start + 999, start + 1_000].map((nowMs) => held.isDated(nowMs)),
    [false, false, false, true],
  );
  held.uncount(start);
  t.equal(held.isDated(start + 1_000), false, 'it is counted in no window');
  const reset = lease(limiter, '/');
  limiter.reconcile([{ ...window, epoch: 1 }]);
  t.equal(reset.isDated(start + 1), true);
  const rule = ruleOf('user_path', '/', 0, { maxRequests: 9 });
  const slots = limiterOf(rule);
  const open = lease(slots, '/');
  t.equal(open.isDated(start + 60_000), false, 'slots have no slices');
  slots.reconcile([{ ...rule, perChild: true }]);
  t.equal(open.isDated(start + 60_000), false);
  t.end();
});

await test('of stored counters those that found no room are told, and no others', (t) => {
  const template = ruleOf('user_path', '/c', minute, { maxRequests: 9, perChild: true });
  const limiter = createLimiter();
  limiter.reconcile([template], { maxChildren: 1 });
  const row = { key: template.key, epoch: 0, periodSeconds: 60, requests: [[start / 1_000, 4]], tokens: [] } as const;
  const children = ['/c/a', '/c/b', '/d/x', '/c/a'].map((child) => ({ ...row, child }));
  t.equal(limiter.restore(children, start), 1);
  t.equal(limiter.dropped, 1);
  t.end();
});

await test('a whole subject has a counter from the start and after a reset, a template only those of its children', (t) => {
  const window = ruleOf('user_path', '/', minute, { maxRequests: 9 });
  const slots = ruleOf('provider', 'p', 0, { maxRequests: 9 });
  const template = ruleOf('user_path', '/c', minute, { maxRequests: 9, perChild: true });
  const limiter = limiterOf(window, slots, template);
  t.equal(limiter.size, 2);
  limiter.reconcile([{ ...window, epoch: 1 }, slots, { ...template, epoch: 1 }]);
  t.equal(limiter.size, 2);
  ask(limiter, '/');
  t.equal(limiter.size, 2, 'it is the one that counts');
  const path = limiter.forUserPath('/');
  t.match(limiter.report(path, start), [{ requestsUsed: 1 }]);
  limiter.reconcile([]);
  t.equal(limiter.size, 0, 'slots that nobody holds go with their rule');
  t.end();
});

await test('children share a counter only as long as their rule is a template', (t) => {
  const template = ruleOf('user_path', '/c', minute, { maxRequests: 9, perChild: true });
  const limiter = createLimiter();
  limiter.reconcile([template], { maxChildren: 1 });
  for (const child of ['a', 'b']) ask(limiter, `/c/${child}`);
  t.match(limiter.overflows(), [{ requests: 1, isOverflowing: true }]);
  limiter.reconcile([{ ...template, perChild: false }]);
  t.match(limiter.overflows(), [{ requests: 1, isOverflowing: false }]);
  t.end();
});

await test('the bytes of counters are used to the last one', (t) => {
  const template = ruleOf('user_path', '/c', minute, { maxRequests: 9, perChild: true });
  const ofOne = 1_300 + 2 * '/c/a'.length;
  for (const [mostBytes, own] of [
    [ofOne, 1],
    [ofOne + 1, 2],
  ] as const) {
    const limiter = createLimiter({ mostBytes });
    limiter.reconcile([template]);
    for (const child of ['a', 'b']) ask(limiter, `/c/${child}`);
    t.equal(limiter.overflows().length, 2 - own, `${mostBytes} bytes`);
  }
  t.end();
});
