// What the limiter promises about counters, one claim per test: which are stored, restored and forgotten, and what they may cost.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { test } from 'tap';
import type { CounterRow } from '../../../domain/rules/counter-row.ts';
import { createLimiter } from '../../../proxy/limits/limiter.ts';
import { exported } from '../../support/counter-rows.ts';
import { extent } from '../../support/extent.ts';
import { admitted, ask, everyRow, inFlight, lease, limiterOf, minute, start, used } from './limiter-calls.ts';
import { ruleOf } from './rule-of.ts';

await test('after an orderly restart every window is as it was, and nothing is in flight', async (t) => {
  const rules = [
    ruleOf('user_path', '/', minute, { maxRequests: 5, maxTokens: 100 }),
    ruleOf('user_path', '/', 0, { maxRequests: 5 }),
    ruleOf('user_path', '/c', 86_400, { maxRequests: 5, perChild: true }),
  ];
  const limiter = limiterOf(...rules);
  const path = limiter.forUserPath('/c/x');
  limiter.admit(path, start, 'reject');
  limiter.admit(path, start + 20_000, 'reject');
  limiter.charge(path, 70, start + 20_000);
  const rows = JSON.parse(JSON.stringify(exported(limiter))) as CounterRow[];
  const next = limiterOf(...rules);
  t.equal(next.restore(rows, start + 25_000), 2);
  const before = limiter.report(path, start + 25_000);
  t.same(
    next.report(next.forUserPath('/c/x'), start + 25_000),
    before.map((report) => ({ ...report, inFlight: 0, ...(report.inFlight > 0 ? { requestsRemaining: 5 } : {}) })),
  );
  t.same(exported(next), [], 'what was read need not be written');
});

await test('after a crash every window is what was flushed last, and nothing is in flight', async (t) => {
  const rules = [ruleOf('user_path', '/', minute, { maxRequests: 9 }), ruleOf('user_path', '/', 0, { maxRequests: 9 })];
  const limiter = limiterOf(...rules);
  ask(limiter, '/');
  ask(limiter, '/');
  const flushed = exported(limiter);
  ask(limiter, '/');
  const next = limiterOf(...rules);
  next.restore(flushed, start + 5_000);
  t.same(used(next, '/', start + 5_000), [0, 2], 'what came after the flush is lost, nothing else');
  t.same(inFlight(next, '/'), [0, 0]);
});

await test('without exports no changes are kept', async (t) => {
  const limiter = createLimiter({ isExported: false });
  limiter.reconcile([ruleOf('user_path', '/c', minute, { maxRequests: 9, perChild: true })]);
  for (let index = 0; index < 500; index += 1) ask(limiter, `/c/${index}`);
  t.equal(limiter.sweep(start + 61_000), 500);
  t.same(exported(limiter), []);
  t.equal(limiter.size, 0);
});

await test('only what changed is exported, in portions, and a key whose counters went is named', async (t) => {
  const rules = [
    ruleOf('user_path', '/', 0, { maxRequests: 99 }),
    ruleOf('user_path', '/c', minute, { maxRequests: 9, perChild: true }),
  ];
  const limiter = limiterOf(...rules);
  for (let index = 0; index < 25; index += 1) ask(limiter, `/c/${index}`);
  t.same(
    [10, 10, 10, 10].map((limit) => exported(limiter, limit).length),
    [10, 10, 5, 0],
  );
  ask(limiter, '/c/3');
  t.same(exported(limiter), [
    { key: rules[1]?.key, epoch: 0, child: '/c/3', periodSeconds: 60, requests: [[start / 1_000, 2]], tokens: [] },
  ]);
  const held = lease(limiter, '/c/30');
  held.refund(start);
  t.match(exported(limiter), [{ child: '/c/30', requests: [] }], 'a counter that is empty again says so');
  t.same(limiter.exportRemoved(), []);
  ask(limiter, '/c/4');
  limiter.reconcile([ruleOf('user_path', '/c', minute, { maxRequests: 9, perChild: true, epoch: 1 })]);
  t.same(exported(limiter), [], 'what was dropped is not exported');
  t.same(limiter.exportRemoved(), [rules[1]?.key], 'slots were never stored');
  t.same(limiter.exportRemoved(), []);
});

await test('stored counters of another epoch, period, rule or kind are not taken', async (t) => {
  const shared = ruleOf('user_path', '/', minute, { maxRequests: 9, epoch: 3 });
  const template = ruleOf('user_path', '/c', minute, { maxRequests: 9, perChild: true });
  const gauge = ruleOf('user_path', '/', 0, { maxRequests: 9 });
  const limiter = limiterOf(shared, template, gauge);
  const row = {
    key: shared.key,
    epoch: 3,
    child: '',
    periodSeconds: 60,
    requests: [[start / 1_000, 4]],
    tokens: [],
  } as const;
  t.equal(
    limiter.restore(
      [
        { ...row, epoch: 2 },
        { ...row, epoch: 4 },
        { ...row, periodSeconds: 61 },
        { ...row, key: 'user_path 60 /gone' },
        { ...row, child: '/x' },
        { ...row, key: template.key, epoch: 0, child: '/c' },
        { ...row, key: template.key, epoch: 0, child: '/c/a/b' },
        { ...row, key: template.key, epoch: 0, child: '/d/a' },
        { ...row, key: gauge.key, epoch: 0, periodSeconds: 0 },
      ],
      start,
    ),
    0,
  );
  t.same(everyRow(limiter), []);
  t.equal(limiter.restore([row, { ...row, key: template.key, epoch: 0, child: '/c/a' }], start), 2);
  t.same(used(limiter, '/c/a'), [0, 4, 4]);
});

await test('a snapshot from the future or the far past does no harm', async (t) => {
  const rule = ruleOf('user_path', '/', minute, { maxRequests: 2 });
  const before = limiterOf(rule);
  admitted(before, '/', 2);
  const future = limiterOf(rule);
  const rows = exported(before);
  future.restore(rows, start - 7_200_000);
  const { rejection } = future.admit(future.forUserPath('/'), start - 7_200_000, 'reject');
  t.equal(rejection?.retryAfterSeconds, 61, 'counts as now');
  t.equal(exported(future).length, 1, 'and is stored as that');
  const past = limiterOf(rule);
  past.restore(rows, start + 365 * 86_400_000);
  t.same(used(past, '/', start + 365 * 86_400_000), [0]);
});

await test('no row brings back slots', async (t) => {
  const slots = ruleOf('user_path', '/c', 0, { maxRequests: 9, perChild: true });
  const limiter = limiterOf(slots);
  const row = { key: slots.key, epoch: 0, child: '/c/a', periodSeconds: 0, requests: [[0, 1]], tokens: [] } as const;
  t.equal(limiter.restore([row], start), 0);
  t.equal(limiter.size, 0);
});

await test('a child with unexported changes waits for the export', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/c', minute, { maxRequests: 9, perChild: true }));
  const held = lease(limiter, '/c/a');
  t.match(exported(limiter), [{ requests: [[start / 1_000, 1]] }]);
  held.refund(start);
  t.equal(limiter.sweep(start), 0, 'the stored row still says one');
  t.match(exported(limiter), [{ requests: [] }]);
  t.equal(limiter.sweep(start), 1);
});

await test('idle children are forgotten, those with use or open requests never', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/c', minute, { maxRequests: 9, perChild: true }),
    ruleOf('user_path', '/c', 0, { maxRequests: 9, perChild: true }),
  );
  const open = lease(limiter, '/c/open');
  for (let index = 0; index < 500; index += 1) lease(limiter, `/c/${index}`).release();
  t.equal(limiter.sweep(start + 60_999, 10_000), 500, 'the gauges');
  t.equal(limiter.sweep(start + 60_999, 10_000), 0, 'the windows are not empty yet');
  ask(limiter, '/c/7', start + 60_999);
  exported(limiter);
  let evicted = 0;
  for (let round = 0; round < 10; round += 1) evicted += limiter.sweep(start + 61_000, 100);
  t.equal(evicted, 500, 'in portions of 100: all windows but the one in use');
  t.same(used(limiter, '/c/7', start + 61_000), [0, 1]);
  t.same(inFlight(limiter, '/c/open'), [1, 0]);
  open.release();
  t.same(inFlight(limiter, '/c/open'), [0, 0]);
});

await test('a live child costs at most 1.3 KB', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const limiter = limiterOf(
    ruleOf('user_path', '/customers', minute, { maxRequests: 2 ** 40, maxTokens: 2 ** 50, perChild: true }),
  );
  const children = extent(40_000, 20_000);
  // What is remembered of look-ups is bounded: filled before and after, it does not show.
  const fill = (): void => {
    for (let index = 0; index < 20_000; index += 1) limiter.forUserPath(`/other/${index}`);
    collect();
  };
  fill();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < children; index += 1) {
    const path = limiter.forUserPath(`/customers/customer-${index}/app/of/theirs`);
    limiter.admit(path, start, 'reject').lease?.release();
    limiter.charge(path, 100, start);
  }
  while (exported(limiter, 1_000).length > 0);
  fill();
  const bytes = (process.memoryUsage().heapUsed - before) / children;
  t.equal(limiter.size, children);
  t.ok(bytes <= 1_331, `${bytes.toFixed(0)} bytes`);
});

await test('an evicted child has one counter again, whichever path is asked first', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/c', minute, { maxRequests: 2, perChild: true }));
  const first = limiter.forUserPath('/c/a/one');
  const second = limiter.forUserPath('/c/a/two');
  const old = limiter.admit(first, start, 'reject').lease;
  limiter.admit(second, start, 'reject');
  const later = start + 61_000;
  exported(limiter);
  t.equal(limiter.sweep(later), 1);
  t.ok(limiter.admit(first, later, 'reject').lease);
  old?.refund(later);
  t.ok(limiter.admit(second, later, 'reject').lease);
  t.ok(limiter.admit(first, later, 'reject').rejection);
  t.ok(limiter.admit(second, later, 'reject').rejection);
  t.equal(limiter.size, 1);
});

await test('a sweep visits as many children as it is told to, and whole subjects never', async (t) => {
  const slots = ruleOf('user_path', '/', 0, { maxRequests: 9 });
  const template = ruleOf('user_path', '/c', 0, { maxRequests: 9, perChild: true });
  const limiter = limiterOf(slots, template);
  const children = ['/c/a', '/c/b', '/c/c', '/c/d', '/c/e'].map((path) => lease(limiter, path));
  for (const child of children) child.release();
  // Slots are never stored: nothing of them waits to be exported.
  limiter.exportAgain();
  t.same(
    [2, 2, 2, 2].map((visits) => limiter.sweep(start, visits)),
    [2, 2, 1, 0],
  );
  t.equal(limiter.size, 1);
  const held = lease(limiter, '/');
  limiter.reconcile([]);
  limiter.reconcile([slots]);
  held.release();
  limiter.sweep(start);
  t.equal(limiter.size, 1, 'nor that of a rule that was away');
});

await test('the sweep survives reloads', async (t) => {
  const template = ruleOf('user_path', '/c', minute, { maxRequests: 2, perChild: true });
  const limiter = limiterOf(template);
  for (let index = 0; index < 50; index += 1) ask(limiter, `/c/${index}`);
  limiter.sweep(start, 10);
  limiter.reconcile([]);
  limiter.reconcile([template, ruleOf('user_path', '/d', minute, { maxRequests: 2, perChild: true })]);
  for (let index = 0; index < 50; index += 1) ask(limiter, `/d/${index}`);
  exported(limiter);
  for (let round = 0; round < 20; round += 1) limiter.sweep(start + 61_000, 10);
  t.equal(limiter.size, 0);
});

await test('what was exported is exported again when the store has lost it', async (t) => {
  const limiter = createLimiter();
  const window = ruleOf('user_path', '/team', 60, { maxRequests: 5 });
  limiter.reconcile([window, ruleOf('user_path', '/team', 0, { maxRequests: 2 })]);
  limiter.admit(limiter.forUserPath('/team'), 1_800_000_000_000);
  const [row] = exported(limiter);
  t.match(row, { key: window.key });
  t.same(exported(limiter), []);
  limiter.exportAgain();
  t.same(exported(limiter), [row], 'once, and no gauge');
});

await test('switched off, nothing is enforced or counted, and what was counted is kept until its window has passed', async (t) => {
  const rules = [
    ruleOf('user_path', '/', minute, { maxRequests: 2, maxTokens: 50 }),
    ruleOf('user_path', '/', 0, { maxRequests: 1 }),
  ];
  const limiter = limiterOf(...rules);
  const path = limiter.forUserPath('/');
  lease(limiter, '/').release();
  limiter.charge(path, 30, start);
  const open = lease(limiter, '/');
  const row = exported(limiter);

  limiter.reconcile(rules, { isEnforced: false });
  t.equal(admitted(limiter, '/', 9), 9);
  limiter.charge(path, 100, start);
  t.same([limiter.rules(), limiter.report(path, start), limiter.exportRemoved()], [[], [], []]);
  t.same(everyRow(limiter), row, 'to be flushed and restored as ever');
  open.release();

  limiter.reconcile(rules);
  t.match(limiter.report(path, start), [{ inFlight: 0 }, { requestsUsed: 2, tokensUsed: 30 }]);
  t.equal(ask(limiter, '/', start + 60_999), false);
  t.equal(ask(limiter, '/', start + 61_000), true);
});

await test('a reset while limits are switched off empties the counters', async (t) => {
  const rule = ruleOf('user_path', '/', minute, { maxRequests: 2 });
  const limiter = limiterOf(rule);
  lease(limiter, '/');
  limiter.reconcile([{ ...rule, epoch: 1 }], { isEnforced: false });
  limiter.reconcile([{ ...rule, epoch: 1 }]);
  t.same(used(limiter, '/'), [0]);
});

await test('children beyond the bound share one counter, with the same caps, until there is room for them', async (t) => {
  const template = ruleOf('user_path', '/c', minute, { maxRequests: 2, maxTokens: 100, perChild: true });
  const limiter = createLimiter();
  limiter.reconcile([template], { maxChildren: 3 });
  for (const name of ['a', 'b', 'c']) t.equal(ask(limiter, `/c/${name}`), true);
  t.same(limiter.overflows(), []);
  for (const name of ['d', 'e']) t.equal(ask(limiter, `/c/${name}`), true);
  const { rejection } = limiter.admit(limiter.forUserPath('/c/f/deep'), start, 'reject');
  t.match(rejection, { subject: '/c/f', cap: 2, retryAfterSeconds: 61 }, 'd and e have used it up');
  t.same(used(limiter, '/c/never-seen'), [2], 'and every child without a counter reads that');
  t.same(used(limiter, '/c/a'), [1], 'those with a counter do not notice');
  t.equal(limiter.size, 4);
  t.match(limiter.overflows(), [{ rule: template, requests: 2, isOverflowing: true }]);
  const rows = exported(limiter);
  t.same(rows.map(({ child }) => child).sort(), ['', '/c/a', '/c/b', '/c/c']);

  t.equal(limiter.sweep(start + 61_000), 4);
  t.match(limiter.overflows(), [{ requests: 2, isOverflowing: false }]);
  t.equal(admitted(limiter, '/c/d', 3, start + 61_000), 2);
  t.equal(admitted(limiter, '/c/e', 3, start + 61_000), 2, 'a counter of its own again');

  const next = createLimiter();
  next.reconcile([template], { maxChildren: 1 });
  t.equal(next.restore([...rows, ...rows], start), 2, 'of what was stored the shared counter, and one child');
  t.same(used(next, '/c/z'), [2]);
  t.equal(next.dropped, 4);
});

await test('a child gets a counter of its own while others still share one', async (t) => {
  const limiter = createLimiter();
  const template = ruleOf('user_path', '/c', minute, { maxRequests: 5, perChild: true });
  limiter.reconcile([template], { maxChildren: 1 });
  const path = limiter.forUserPath('/c/late');
  ask(limiter, '/c/early');
  const first = limiter.admit(path, start + 30_000, 'reject').lease;
  exported(limiter);
  limiter.sweep(start + 61_000);
  t.ok(limiter.admit(path, start + 61_000, 'reject').lease);
  t.same(used(limiter, '/c/late', start + 61_000), [1], 'not the one that it shared before');
  first?.refund(start + 61_000);
  t.same(used(limiter, '/c/late', start + 61_000), [1], 'what it took there it gives back there');
  limiter.reconcile([template], { maxChildren: 2 });
  t.equal(ask(limiter, '/c/other', start + 61_000), true);
  t.same(used(limiter, '/c/other', start + 61_000), [1], 'a raised bound holds at once');
});

await test('slots of children that share a counter come back to it', async (t) => {
  const limiter = createLimiter();
  limiter.reconcile([ruleOf('user_path', '/c', 0, { maxRequests: 2, perChild: true })], { maxChildren: 1 });
  const leases = ['/c/a', '/c/b', '/c/c'].map((path) => lease(limiter, path));
  t.equal(ask(limiter, '/c/d'), false, 'b and c hold what they share');
  for (const held of leases) held.release();
  t.equal(limiter.sweep(start), 2);
  t.equal(limiter.size, 0);
});

await test('counters of children stay within their bytes, long names included', async (t) => {
  const limiter = createLimiter({ mostBytes: 100_000 });
  const templates = ['/c', '/d'].map((path) => ruleOf('user_path', path, minute, { maxRequests: 9, perChild: true }));
  limiter.reconcile(templates);
  for (let index = 0; index < 500; index += 1) ask(limiter, `/c/${index}-${'n'.repeat(900)}`);
  const long = limiter.size;
  t.ok(long > 20 && long < 60, `${long} counters with names of 900 characters`);
  ask(limiter, '/d/other');
  t.match(limiter.overflows(), [{}, { rule: templates[1], requests: 1 }], 'one bound for all templates');
  exported(limiter);
  t.equal(limiter.sweep(start + 61_000), long + 1);
  for (let index = 0; index < 500; index += 1) ask(limiter, `/d/${index}`, start + 61_000);
  t.ok(limiter.size > 70, `${limiter.size} counters with short names`);
});
