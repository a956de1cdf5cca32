// What the limiter promises about requests, one claim per test, in numbers: who is admitted, what is told, what a refund takes back.

import { test } from 'tap';
import type { Rule } from '../../../domain/rules/rule.ts';
import { createLimiter } from '../../../proxy/limits/limiter.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { admitted, ask, decided, inFlight, lease, limiterOf, minute, start, used } from './limiter-calls.ts';
import { ruleOf } from './rule-of.ts';

await test('without a matching rule everything is admitted, and nothing is held', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/team', minute, { maxRequests: 1 }));
  const first = lease(limiter, '/other');
  first.refund(start);
  first.release();
  t.equal(admitted(limiter, '/other', 100), 100);
  t.same(limiter.decisions(), []);
  t.same(limiter.report(limiter.forUserPath('/other'), start), []);
});

await test('no trailing period holds more requests than the cap, however they arrive', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxRequests: 7 }));
  const log: number[] = [];
  let most = 0;
  for (let nowMs = start + 59_000; nowMs < start + 400_000; nowMs += nowMs % 120_000 < 60_000 ? 97 : 1_903) {
    if (ask(limiter, '/x', nowMs)) log.push(nowMs);
    most = Math.max(most, log.filter((atMs) => atMs >= nowMs - 60_000).length);
  }
  t.equal(most, 7);
  t.ok(log.length >= 7 * 5, `${log.length} admitted in 341 s`);
});

await test('an aligned window never admits more than the cap', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxRequests: 3 }));
  const perWindow = new Map<number, number>();
  for (let nowMs = start; nowMs < start + 600_000; nowMs += 311) {
    const window = Math.floor(nowMs / 60_000);
    if (ask(limiter, '/', nowMs)) perWindow.set(window, (perWindow.get(window) ?? 0) + 1);
  }
  t.equal(Math.max(...perWindow.values()), 3);
});

await test('a burst at the end of one window cannot be repeated at the start of the next', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxRequests: 10 }));
  t.equal(admitted(limiter, '/', 20, start + 59_900), 10);
  t.equal(admitted(limiter, '/', 20, start + 60_100), 0);
  t.equal(admitted(limiter, '/', 20, start + 119_999), 0, 'still inside the trailing minute, counted by slices');
  t.equal(admitted(limiter, '/', 20, start + 120_000), 10);
});

await test('open requests are the slots taken, each given back once, and never fewer than none', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', 0, { maxRequests: 2 }));
  const first = lease(limiter, '/');
  const second = lease(limiter, '/');
  t.equal(ask(limiter, '/'), false);
  first.release();
  first.release();
  t.same(inFlight(limiter, '/'), [1], 'a second release gives nothing back');
  first.refund(start);
  t.same(inFlight(limiter, '/'), [1], 'nor does a refund after it');
  second.refund(start);
  second.release();
  t.same(inFlight(limiter, '/'), [0], 'a refund gives the slot back');
});

await test('a lowered cap of slots lets open requests end and admits again below it', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', 0, { maxRequests: 3 }));
  const leases = [lease(limiter, '/'), lease(limiter, '/'), lease(limiter, '/')];
  limiter.reconcile([ruleOf('user_path', '/', 0, { maxRequests: 1 })]);
  t.same(inFlight(limiter, '/'), [3]);
  t.same(limiter.report(limiter.forUserPath('/'), start)[0]?.requestsRemaining, 0);
  for (const held of leases) {
    t.equal(ask(limiter, '/'), false);
    held.release();
  }
  t.equal(ask(limiter, '/'), true);
});

await test('a refused request changes no counter and no slot of any rule', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', minute, { maxRequests: 10 }),
    ruleOf('user_path', '/', 0, { maxRequests: 10 }),
    ruleOf('user_path', '/a', minute, { maxRequests: 1 }),
    ruleOf('user_path', '/a/b', minute, { maxRequests: 10 }),
  );
  lease(limiter, '/a/b').release();
  const matches = limiter.forUserPath('/a/b');
  const before = limiter.report(matches, start);
  t.equal(ask(limiter, '/a/b'), false);
  t.same(limiter.report(matches, start), before);
  t.same(used(limiter, '/a/b'), [0, 1, 1, 1]);
});

await test('a refused child of a template leaves no trace', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', minute, { maxRequests: 1 }),
    ruleOf('user_path', '/', 60 * minute, { maxRequests: 9, perChild: true }),
  );
  ask(limiter, '/x');
  const size = limiter.size;
  for (let index = 0; index < 100; index += 1) ask(limiter, `/y${index}`);
  t.equal(limiter.size, size);
});

await test('a refusal names the used-up rule with the longest wait, and all of them in their order', async (t) => {
  const rules = [
    ruleOf('user_path', '/a', 3_600, { maxRequests: 1 }),
    ruleOf('user_path', '/', minute, { maxRequests: 1 }),
    ruleOf('user_path', '/', 0, { maxRequests: 1 }),
    ruleOf('user_path', '/a', minute, { maxRequests: 5 }),
  ];
  const limiter = limiterOf(...rules);
  const held = lease(limiter, '/a');
  const { rejection } = limiter.admit(limiter.forUserPath('/a'), start, 'reject');
  t.match(rejection, { subject: '/a', dimension: 'requests', cap: 1, retryAfterSeconds: 3_660 });
  t.same(
    rejection?.exhausted.map((found) => [found.subject, found.rule.periodSeconds, found.retryAfterSeconds]),
    [
      ['/', 0, 1],
      ['/', 60, 61],
      ['/a', 3_600, 3_660],
    ],
  );
  held.release();
  t.equal(ask(limiter, '/a', start + 3_659_000), false, 'refused a second earlier');
  t.equal(ask(limiter, '/a', start + 3_660_000), true, 'admitted then');
});

await test('a used-up concurrency rule says one second', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', 0, { maxRequests: 1 }));
  lease(limiter, '/');
  const { rejection } = limiter.admit(limiter.forUserPath('/'), start, 'reject');
  t.match(rejection, { dimension: 'concurrent', retryAfterSeconds: 1, cap: 1 });
});

await test('remaining is the cap less what is used, never below nothing, in whole numbers', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxRequests: 3, maxTokens: 100 }));
  const path = limiter.forUserPath('/');
  ask(limiter, '/');
  limiter.charge(path, 250, start);
  t.match(limiter.report(path, start + 15_000)[0], {
    requestsUsed: 1,
    requestsRemaining: 2,
    tokensUsed: 250,
    tokensRemaining: 0,
    inFlight: 0,
    windowStartMs: start,
    windowEndMs: start + 61_000,
    resetsInSeconds: 46,
    exhausted: true,
  });
});

await test('a window lasts from the oldest use that counts until the newest will have left', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxRequests: 3, maxTokens: 100 }));
  const path = limiter.forUserPath('/');
  const told = (nowMs: number): (number | undefined)[] => {
    const [report] = limiter.report(path, nowMs);
    return [report?.windowStartMs, report?.windowEndMs, report?.resetsInSeconds];
  };
  t.same(told(start + 7), [start + 7, start + 60_007, 60], 'from now for a period without use');
  ask(limiter, '/', start + 1_700);
  limiter.charge(path, 10, start + 20_300);
  t.same(told(start + 30_000), [start + 1_000, start + 81_000, 51]);
  t.same(told(start + 62_000), [start + 20_000, start + 81_000, 19], 'the request has left');
  for (let count = 0; count < 3; count += 1) ask(limiter, '/', start + 70_000);
  t.same(told(start + 70_000), [start + 20_000, start + 131_000, 61], 'used up: the wait');
  t.same(atOnce(limiter.live(start + 70_000)).windows, [[start + 20_000, start + 131_000]]);
});

await test('without time passing what is used does not fall', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxRequests: 5, maxTokens: 9 }));
  const seen: number[] = [];
  for (let index = 0; index < 20; index += 1) {
    ask(limiter, '/');
    limiter.report(limiter.forUserPath('/'), start);
    limiter.sweep(start);
    seen.push(...used(limiter, '/'));
  }
  t.same(
    seen,
    seen.toSorted((one, other) => one - other),
  );
  t.equal(seen.at(-1), 5);
});

await test('every matching rule is charged once, in the order of scope, subject and period', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/a', minute, { maxRequests: 9 }),
    ruleOf('user_path', '/', 86_400, { maxRequests: 9 }),
    ruleOf('user_path', '/', minute, { maxRequests: 9 }),
    ruleOf('provider', 'p', minute, { maxRequests: 9 }),
    ruleOf('model', 'p/m', minute, { maxRequests: 9 }),
    ruleOf('model', 'm', minute, { maxRequests: 9 }),
  );
  const path = limiter.forUserPath('/a/b');
  const target = limiter.forTarget('p', 'm');
  limiter.admit(path, start, 'reject');
  limiter.admit(target, start, 'skip_target');
  const reports = [...limiter.report(target, start), ...limiter.report(path, start)];
  t.same(
    reports.map(({ rule, requestsUsed }) => [rule.scope, rule.subject, rule.periodSeconds, requestsUsed]),
    [
      ['model', 'm', 60, 1],
      ['model', 'p/m', 60, 1],
      ['provider', 'p', 60, 1],
      ['user_path', '/', 60, 1],
      ['user_path', '/', 86_400, 1],
      ['user_path', '/a', 60, 1],
    ],
  );
  t.same(
    limiter.rules().map(({ key }) => key),
    reports.map(({ rule }) => rule.key),
  );
});

await test('failing over charges each target that was tried, and the consumer once', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', minute, { maxRequests: 9 }),
    ruleOf('provider', 'full', minute, { maxRequests: 1 }),
    ruleOf('provider', 'free', minute, { maxRequests: 9 }),
  );
  limiter.admit(limiter.forTarget('full', 'm'), start, 'reject');
  const full = limiter.forTarget('full', 'm');
  const free = limiter.forTarget('free', 'm');
  ask(limiter, '/');
  t.equal(limiter.admit(full, start, 'skip_target').lease, undefined);
  t.ok(limiter.admit(free, start, 'skip_target').lease);
  t.same(
    [free, full, limiter.forUserPath('/')]
      .flatMap((matches) => limiter.report(matches, start))
      .map(({ subject, requestsUsed }) => [subject, requestsUsed]),
    [
      ['free', 1],
      ['full', 1],
      ['/', 1],
    ],
  );
  t.same(
    limiter.decisions().filter(({ outcome }) => outcome !== 'allow'),
    [{ rule: limiter.rules()[1]?.id, scope: 'provider', dimension: 'requests', outcome: 'skip_target', count: 1 }],
  );
});

await test('reading what is used changes nothing', async (t) => {
  const limiter = limiterOf(ruleOf('provider', 'p', minute, { maxRequests: 1 }));
  const target = limiter.forTarget('p', 'm');
  const isExhausted = (): boolean | undefined => limiter.report(target, start)[0]?.exhausted;
  const read = (): unknown[] => [atOnce(limiter.live(start)), limiter.decisions(), limiter.report(target, start)];
  const before = read();
  t.equal(isExhausted(), false);
  t.same(read(), before);
  t.ok(limiter.admit(target, start, 'reject').lease);
  const after = read();
  t.equal(isExhausted(), true);
  t.same(read(), after);
});

await test('a batch holds no slot, a session one until it ends', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', minute, { maxRequests: 9 }),
    ruleOf('user_path', '/', 0, { maxRequests: 1 }),
  );
  lease(limiter, '/').release();
  t.same(inFlight(limiter, '/'), [0, 0]);
  const session = lease(limiter, '/', start + 3_600_000);
  t.same(inFlight(limiter, '/'), [1, 0]);
  session.release();
  t.same(inFlight(limiter, '/'), [0, 0]);
});

await test('tokens are checked before and counted after, so one request may overshoot', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxTokens: 10 }));
  const path = limiter.forUserPath('/');
  t.equal(admitted(limiter, '/', 50), 50, 'nothing recorded yet');
  limiter.charge(path, 9, start);
  t.equal(ask(limiter, '/'), true);
  limiter.charge(path, 30, start);
  const { rejection } = limiter.admit(path, start + 30_000, 'reject');
  t.match(rejection, { dimension: 'tokens', cap: 10, retryAfterSeconds: 31 });
  t.same(used(limiter, '/'), [0], 'a rule on tokens counts no requests');
});

await test('what is not a number of tokens is not charged', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxTokens: 10 }));
  const path = limiter.forUserPath('/');
  for (const tokens of [0, -5, Number.NaN, 0.5]) limiter.charge(path, tokens, start);
  t.equal(limiter.report(path, start)[0]?.tokensUsed, 0);
  limiter.charge(path, 3.9, start);
  t.equal(limiter.report(path, start)[0]?.tokensUsed, 3);
  limiter.charge(path, Number.POSITIVE_INFINITY, start);
  t.equal(limiter.report(path, start)[0]?.tokensUsed, Number.MAX_SAFE_INTEGER);
});

await test('with usage tracking off token caps are listed and not enforced', async (t) => {
  const limiter = createLimiter({ tokensEnforced: false });
  limiter.reconcile([ruleOf('user_path', '/', minute, { maxTokens: 1, maxRequests: 2 })]);
  const path = limiter.forUserPath('/');
  limiter.charge(path, 100, start);
  t.equal(admitted(limiter, '/', 3), 2, 'the cap on requests still holds');
  t.match(limiter.report(path, start)[0], { tokensUsed: 0, tokensRemaining: 1, requestsUsed: 2 });
  t.same(decided(limiter), { 'requests allow': 2, 'requests reject': 1 });
});

await test('a refund takes the request back from every rule, once', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', minute, { maxRequests: 2 }),
    ruleOf('user_path', '/c', minute, { maxRequests: 2, perChild: true }),
  );
  const held = lease(limiter, '/c/x');
  lease(limiter, '/c/x');
  t.equal(ask(limiter, '/c/x'), false);
  held.refund(start + 100);
  held.refund(start + 100);
  t.same(used(limiter, '/c/x'), [1, 1]);
  t.equal(ask(limiter, '/c/x'), true);
});

await test('a refund takes from the slice that was charged', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxRequests: 2 }));
  const held = lease(limiter, '/');
  ask(limiter, '/', start + 20_000);
  held.refund(start + 20_000);
  t.same(used(limiter, '/', start + 61_000), [1], 'the later request stays as long as it would have');
});

await test('a refund of a request that has ended takes back its count', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', minute, { maxRequests: 2 }),
    ruleOf('user_path', '/', 0, { maxRequests: 2 }),
  );
  const held = lease(limiter, '/');
  held.release();
  held.refund(start);
  t.same(used(limiter, '/'), [0, 0]);
  t.same(inFlight(limiter, '/'), [0, 0]);
});

await test('a cap of 0 admits nothing and asks to come again when its block ends', async (t) => {
  const blockedUntilMs = start + 7_200_500;
  const zeros: [dimension: string, rule: Rule][] = [
    ['requests', ruleOf('user_path', '/team', minute, { maxRequests: 0, blockedUntilMs })],
    ['tokens', ruleOf('user_path', '/team', minute, { maxRequests: 9, maxTokens: 0, blockedUntilMs })],
    ['concurrent', ruleOf('user_path', '/team', 0, { maxRequests: 0, blockedUntilMs })],
    ['requests', ruleOf('user_path', '/', minute, { maxRequests: 0, blockedUntilMs, perChild: true })],
  ];
  for (const [dimension, rule] of zeros) {
    const limiter = limiterOf(rule);
    const matches = limiter.forUserPath('/team/app');
    const { rejection } = limiter.admit(matches, start);
    t.match(rejection, { dimension, cap: 0, retryAfterSeconds: 7_201 }, rule.key);
    t.equal(limiter.size, rule.perChild ? 0 : 1, 'a blocked child is not remembered');
    t.match(limiter.admit(matches, blockedUntilMs - 1).rejection, { retryAfterSeconds: 1 });
    const full = [...limiter.utilisationByRule(new Set([rule.id]), start)]
      .flatMap(({ figures }) => figures)
      .filter((cap) => cap.dimension === dimension);
    t.equal(full[0]?.ratio, 1, 'a block is full');
    t.equal(ask(limiterOf({ ...rule, mode: 'shadow' }), '/team/app'), true);
  }
  const uncounted = createLimiter({ tokensEnforced: false });
  uncounted.reconcile([ruleOf('user_path', '/', minute, { maxTokens: 0, blockedUntilMs, perChild: true })]);
  t.equal(ask(uncounted, '/team'), true, 'where tokens are not counted they block nothing');
});
