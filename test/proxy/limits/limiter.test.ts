// What the limiter promises, one claim per test, in numbers.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { test } from 'tap';
import type { Lease } from '../../../proxy/limits/lease.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import type { CounterRow } from '../../../schemas/rules/counter-row.ts';
import type { Rule } from '../../../schemas/rules/rule.ts';
import { isWithin, normaliseUserPath } from '../../../schemas/user-path.ts';
import { ruleOf } from './rule-of.ts';

const start = 1_800_000_000_000;
const minute = 60;

function limiterOf(...rules: Rule[]): Limiter {
  const limiter = createLimiter();
  limiter.reconcile(rules);
  return limiter;
}

/** Asks as a consumer; true when admitted. */
function ask(limiter: Limiter, path: string, nowMs: number = start): boolean {
  return limiter.admit(limiter.forUserPath(path), nowMs, 'reject').lease !== undefined;
}

function lease(limiter: Limiter, path: string, nowMs: number = start): Lease {
  const admission = limiter.admit(limiter.forUserPath(path), nowMs, 'reject');
  if (admission.lease === undefined) throw new Error(`${path} was refused`);
  return admission.lease;
}

function admitted(limiter: Limiter, path: string, tries: number, nowMs: number = start): number {
  return Array.from({ length: tries }, () => ask(limiter, path, nowMs)).filter(Boolean).length;
}

function used(limiter: Limiter, path: string, nowMs: number = start): number[] {
  return limiter.report(limiter.forUserPath(path), nowMs).map(({ requestsUsed }) => requestsUsed);
}

function inFlight(limiter: Limiter, path: string): number[] {
  return limiter.report(limiter.forUserPath(path), start).map((report) => report.inFlight);
}

/** Every window in which something is counted, as it would be stored; all of them count as exported. */
function everyRow(limiter: Limiter): CounterRow[] {
  limiter.exportAgain();
  return limiter.exportChanged().filter(({ requests, tokens }) => requests.length + tokens.length > 0);
}

/** Decisions of all rules together, by dimension and outcome. */
function decided(limiter: Limiter): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { dimension, outcome, count } of limiter.decisions()) {
    const what = `${dimension} ${outcome}`;
    sums[what] = (sums[what] ?? 0) + count;
  }
  return sums;
}

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
  t.same(limiter.live(start + 70_000).windows, [[start + 20_000, start + 131_000]]);
});

await test('without time passing what is used does not fall', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxRequests: 5, maxTokens: 9 }));
  let last = 0;
  for (let index = 0; index < 20; index += 1) {
    ask(limiter, '/');
    limiter.report(limiter.forUserPath('/'), start);
    limiter.sweep(start);
    const now = used(limiter, '/')[0] ?? 0;
    t.ok(now >= last);
    last = now;
  }
  t.equal(last, 5);
});

await test('a cap edit keeps counts and requests in flight', async (t) => {
  const rules = (requests: number, slots: number): Rule[] => [
    ruleOf('user_path', '/', minute, { maxRequests: requests, maxTokens: 50 }),
    ruleOf('user_path', '/', 0, { maxRequests: slots }),
  ];
  const limiter = limiterOf(...rules(5, 5));
  lease(limiter, '/');
  lease(limiter, '/');
  limiter.charge(limiter.forUserPath('/'), 30, start);
  limiter.reconcile(rules(2, 9));
  t.same(used(limiter, '/'), [0, 2]);
  t.same(inFlight(limiter, '/'), [2, 0]);
  t.equal(limiter.report(limiter.forUserPath('/'), start)[1]?.tokensUsed, 30);
  t.equal(ask(limiter, '/'), false, 'the lower cap holds at once');
  limiter.reconcile(rules(3, 9));
  t.equal(ask(limiter, '/'), true);
});

await test('a cap that is added starts to count, and refunds of older requests do not touch it', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxTokens: 50 }));
  const older = lease(limiter, '/');
  limiter.reconcile([ruleOf('user_path', '/', minute, { maxTokens: 50, maxRequests: 2 })]);
  lease(limiter, '/');
  older.refund(start);
  t.same(used(limiter, '/'), [1]);
});

await test('another scope, subject or period is another rule and starts at nothing', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/a', minute, { maxRequests: 1 }));
  ask(limiter, '/a/b');
  for (const moved of [
    ruleOf('user_path', '/a/b', minute, { maxRequests: 1 }),
    ruleOf('user_path', '/a/b', 61, { maxRequests: 1 }),
    ruleOf('user_path', '/', 61, { maxRequests: 1 }),
  ]) {
    limiter.reconcile([moved]);
    t.same(used(limiter, '/a/b'), [0]);
    t.equal(ask(limiter, '/a/b'), true);
    t.equal(ask(limiter, '/a/b'), false);
  }
});

await test('a rule that was deleted and made again starts at nothing', async (t) => {
  const rule = ruleOf('user_path', '/', minute, { maxRequests: 1 });
  const limiter = limiterOf(rule);
  ask(limiter, '/');
  limiter.reconcile([]);
  t.equal(ask(limiter, '/'), true, 'no rule, no limit');
  limiter.reconcile([rule]);
  t.same(used(limiter, '/'), [0]);
  limiter.reconcile([{ ...rule, epoch: 1 }]);
  t.equal(admitted(limiter, '/', 3), 1, 'seen as a raised epoch, it is the same');
});

await test('a reload with equal rules changes nothing', async (t) => {
  const rules = (): Rule[] => [
    ruleOf('user_path', '/', minute, { maxRequests: 5, maxTokens: 100 }),
    ruleOf('user_path', '/c', minute, { maxRequests: 5, perChild: true }),
    ruleOf('provider', 'p', 0, { maxRequests: 5 }),
  ];
  const limiter = limiterOf(...rules());
  const path = limiter.forUserPath('/c/x/y');
  const target = limiter.forTarget('p', 'm');
  const open = limiter.admit(target, start, 'reject').lease;
  limiter.admit(path, start, 'reject');
  limiter.charge(path, 7, start);
  const before = [everyRow(limiter), limiter.report(path, start), limiter.report(target, start)];
  limiter.reconcile(rules());
  limiter.reconcile(rules().toReversed());
  t.same([everyRow(limiter), limiter.report(path, start), limiter.report(target, start)], before);
  open?.release();
  t.equal(limiter.report(target, start)[0]?.inFlight, 0, 'and leases from before still count');
  t.same(limiter.exportRemoved(), []);
});

await test('a reset empties the windows and leaves the slots to the requests that hold them', async (t) => {
  const rules = (epoch: number): Rule[] => [
    ruleOf('user_path', '/', minute, { maxRequests: 1, epoch }),
    ruleOf('user_path', '/', 0, { maxRequests: 2, epoch }),
  ];
  const limiter = limiterOf(...rules(0));
  const open = lease(limiter, '/');
  limiter.reconcile(rules(1));
  limiter.reconcile(rules(1));
  t.same(used(limiter, '/'), [0, 0]);
  t.same(inFlight(limiter, '/'), [1, 0]);
  const next = lease(limiter, '/');
  open.refund(start);
  t.same(used(limiter, '/'), [0, 1], 'a refund from before the reset takes nothing from after it');
  t.same(inFlight(limiter, '/'), [1, 0]);
  next.release();
  t.same(inFlight(limiter, '/'), [0, 0]);
});

await test('a reset of a template empties all its children and keeps their slots', async (t) => {
  const rules = (epoch: number): Rule[] => [
    ruleOf('user_path', '/c', minute, { maxRequests: 1, perChild: true, epoch }),
    ruleOf('user_path', '/c', 0, { maxRequests: 1, perChild: true, epoch }),
  ];
  const limiter = limiterOf(...rules(0));
  const open = ['/c/a', '/c/b/deep'].map((path) => lease(limiter, path));
  limiter.reconcile(rules(1));
  for (const path of ['/c/a', '/c/b']) {
    t.same(used(limiter, path), [0, 0]);
    t.same(inFlight(limiter, path), [1, 0]);
    t.equal(ask(limiter, path), false, 'the slot is still taken');
  }
  for (const held of open) held.release();
  for (const path of ['/c/a', '/c/b']) t.equal(ask(limiter, path), true);
});

await test('a concurrency rule that is deleted and made again counts the requests still open', async (t) => {
  for (const perChild of [false, true]) {
    const rule = (epoch: number): Rule => ruleOf('user_path', '/c', 0, { maxRequests: 2, perChild, epoch });
    const limiter = limiterOf(rule(0));
    const [first, second] = [lease(limiter, '/c/a'), lease(limiter, '/c/a/deep')];
    limiter.reconcile([]);
    limiter.sweep(start);
    first.release();
    t.equal(ask(limiter, '/c/a'), true, 'no rule, no limit');
    limiter.reconcile([rule(1)]);
    t.same(inFlight(limiter, '/c/a'), [1], 'the one that has ended meanwhile is not counted');
    const third = lease(limiter, '/c/a');
    t.equal(ask(limiter, '/c/a'), false);
    second.release();
    third.release();
    t.same(inFlight(limiter, '/c/a'), [0]);
    limiter.reconcile([]);
    limiter.sweep(start);
    limiter.reconcile([rule(2)]);
    t.equal(admitted(limiter, '/c/a', 3), 2, 'without open requests it starts at nothing');
  }
});

await test('a rule that becomes a template, or stops being one, starts anew', async (t) => {
  for (const period of [0, minute]) {
    const shared = ruleOf('user_path', '/c', period, { maxRequests: 1 });
    const template = ruleOf('user_path', '/c', period, { maxRequests: 1, perChild: true });
    const limiter = limiterOf(shared);
    const first = lease(limiter, '/c/a');
    t.equal(ask(limiter, '/c/b'), false);
    limiter.reconcile([template]);
    const second = lease(limiter, '/c/a');
    t.equal(ask(limiter, '/c/b'), true);
    limiter.reconcile([shared]);
    t.equal(ask(limiter, '/c/b'), true);
    first.release();
    second.release();
    t.equal(ask(limiter, '/c/b'), false);
  }
});

await test('children of a template do not disturb each other, deeper paths count for the child', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/customers', minute, { maxRequests: 2, perChild: true }));
  t.equal(ask(limiter, '/customers/alice'), true);
  t.equal(ask(limiter, '/customers/alice/app/one'), true);
  t.equal(ask(limiter, '/customers/alice/app'), false);
  t.equal(admitted(limiter, '/customers/bob', 5), 2);
  t.equal(admitted(limiter, '/customers', 5), 5, 'the template itself does not match');
  t.equal(admitted(limiter, '/customers-of-ours/x', 5), 5);
  const { rejection } = limiter.admit(limiter.forUserPath('/customers/bob/x'), start, 'reject');
  t.equal(rejection?.subject, '/customers/bob');
  t.match(limiter.report(limiter.forUserPath('/customers/alice/x'), start), [
    { subject: '/customers/alice', requestsUsed: 2 },
  ]);
  t.same(limiter.live(start).counters, [], 'a template has no figures as a whole');
});

await test('a template on the root gives every first segment its own counters', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxRequests: 1, perChild: true }));
  t.equal(admitted(limiter, '/a/b/c', 3), 1);
  t.equal(admitted(limiter, '/b', 3), 1);
  t.equal(admitted(limiter, '/', 3), 3);
});

await test('a rule covers its path and what lies below, never a neighbour with a longer name', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/team', minute, { maxRequests: 2 }));
  t.equal(ask(limiter, '/team'), true);
  t.equal(ask(limiter, '/team/x'), true);
  t.equal(ask(limiter, '/team/x/y'), false, 'one counter for all of it');
  for (const path of ['/team-alpha', '/teams', '/', '/Team', '/tea']) t.equal(admitted(limiter, path, 4), 4, path);
});

await test('a normalised path stays what it is, and matches what it matched', async (t) => {
  for (const written of ['team//app/', ' /team / app', '/team/app', '//']) {
    const once = normaliseUserPath(written).path ?? '';
    t.equal(normaliseUserPath(once).path, once, written);
    t.equal(isWithin(once, '/'), true);
  }
});

await test('providers and models match in any case, bare models on every provider, qualified ones on theirs', async (t) => {
  const limiter = limiterOf(
    ruleOf('provider', 'OpenAI', minute, { maxRequests: 100 }),
    ruleOf('model', 'GPT-4o', minute, { maxRequests: 100 }),
    ruleOf('model', 'openai/gpt-4O', minute, { maxRequests: 100 }),
    ruleOf('model', 'meta/llama', minute, { maxRequests: 100 }),
  );
  const subjects = (provider: string, model: string): string[] =>
    limiter.report(limiter.forTarget(provider, model), start).map(({ subject }) => subject);
  t.same(subjects('openai', 'gpt-4o'), ['GPT-4o', 'openai/gpt-4O', 'OpenAI']);
  t.same(subjects('OPENAI', 'GPT-4O'), ['GPT-4o', 'openai/gpt-4O', 'OpenAI']);
  t.same(subjects('azure', 'gpt-4o'), ['GPT-4o']);
  t.same(subjects('openai', 'gpt-4'), ['OpenAI']);
  t.same(subjects('openrouter', 'meta/llama'), [], 'a subject with a provider says nothing of ids that look like it');
  t.same(subjects('meta', 'llama'), ['meta/llama']);
  const bare = limiterOf(ruleOf('model', 'meta/llama', minute, { maxRequests: 100, bareId: true }));
  t.equal(bare.report(bare.forTarget('openrouter', 'Meta/Llama'), start).length, 1, 'a bare id may contain a slash');
  t.equal(bare.report(bare.forTarget('meta', 'llama'), start).length, 0);
  t.same(subjects('open', 'ai/gpt-4o'), []);
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
  const read = (): unknown[] => [limiter.live(start), limiter.decisions(), limiter.report(target, start)];
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

await test('late tokens count when they arrive, under the rules of that moment', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/a', minute, { maxTokens: 100 }),
    ruleOf('user_path', '/', minute, { maxTokens: 100 }),
  );
  const path = limiter.forUserPath('/a');
  limiter.admit(path, start, 'reject');
  limiter.reconcile([
    ruleOf('user_path', '/a', minute, { maxTokens: 7, epoch: 1 }),
    ruleOf('user_path', '/a', 3_600, { maxTokens: 100 }),
  ]);
  const later = start + 300_000;
  limiter.charge(path, 40, later);
  t.same(
    limiter.report(path, later).map(({ rule, tokensUsed }) => [rule.periodSeconds, rule.epoch, tokensUsed]),
    [
      [60, 1, 40],
      [3_600, 0, 40],
    ],
    'edited and new rules get them, deleted ones do not',
  );
  t.same(limiter.exportChanged()[0]?.tokens, [[later / 1_000, 40]], 'in the slice of completion');
  limiter.reconcile([]);
  limiter.charge(path, 40, later);
  t.same(limiter.exportChanged(), []);
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

await test('a shadow rule counts what it would have refused and refuses nothing', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', minute, { maxRequests: 2, mode: 'shadow' }),
    ruleOf('user_path', '/', 0, { maxRequests: 1, mode: 'shadow' }),
    ruleOf('user_path', '/', 3_600, { maxTokens: 10, mode: 'shadow' }),
  );
  const path = limiter.forUserPath('/');
  const first = lease(limiter, '/', start - minute * 1_000 - 1_000);
  limiter.charge(path, 10, start, first);
  first.release();
  t.equal(admitted(limiter, '/', 5), 5);
  t.same(decided(limiter), {
    'concurrent allow': 2,
    'concurrent shadow_reject': 4,
    'requests allow': 3,
    'requests shadow_reject': 3,
    'tokens allow': 1,
    'tokens shadow_reject': 5,
  });
  t.same(used(limiter, '/'), [0, 2, 0], 'as if it had refused them');
});

await test('a shadow rule says exactly what enforcing would have meant', async (t) => {
  const outcome = (mode: Rule['mode']): number => {
    const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxRequests: 5, mode }));
    for (let nowMs = start; nowMs < start + 600_000; nowMs += 10_000) {
      ask(limiter, '/', nowMs);
    }
    const refused = limiter.decisions().filter(({ outcome: kind }) => kind !== 'allow');
    return refused.reduce((sum, { count }) => sum + count, 0);
  };
  t.equal(outcome('shadow'), outcome('enforce'));
  t.not(outcome('shadow'), 0);
});

await test('a shadow token rule counts only the tokens of requests it would have admitted', async (t) => {
  const passed = (mode: Rule['mode']): number => {
    const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxTokens: 100, mode }));
    const path = limiter.forUserPath('/');
    for (let nowMs = start; nowMs < start + 3 * 61_000; nowMs += 1_000) {
      const { lease: held } = limiter.admit(path, nowMs, 'reject');
      if (held !== undefined) limiter.charge(path, 10, nowMs, held);
    }
    return decided(limiter)['tokens allow'] ?? 0;
  };
  t.equal(passed('enforce'), 30, 'ten in each of three minutes');
  t.equal(passed('shadow'), 30);
});

await test('a shadow rule is silent about requests that are refused anyway', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', minute, { maxRequests: 1 }),
    ruleOf('user_path', '/', 3_600, { maxRequests: 1, mode: 'shadow' }),
  );
  ask(limiter, '/');
  const { rejection } = limiter.admit(limiter.forUserPath('/'), start, 'reject');
  t.equal(rejection?.exhausted.length, 1);
  t.equal(rejection?.retryAfterSeconds, 61);
  t.same(decided(limiter), { 'requests allow': 2, 'requests reject': 1 });
});

await test('a slot that a shadow rule did not take is not given back to it', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', 0, { maxRequests: 1, mode: 'shadow' }));
  const first = lease(limiter, '/');
  const second = lease(limiter, '/');
  second.release();
  t.same(inFlight(limiter, '/'), [1]);
  first.release();
  t.same(inFlight(limiter, '/'), [0]);
});

await test('a change of mode keeps the counters', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxRequests: 2, mode: 'shadow' }));
  t.equal(admitted(limiter, '/', 4), 4);
  limiter.reconcile([ruleOf('user_path', '/', minute, { maxRequests: 2 })]);
  t.equal(ask(limiter, '/'), false);
});

await test('every used-up rule counts its own refusal', async (t) => {
  const limiter = limiterOf(
    ruleOf('user_path', '/', minute, { maxRequests: 1, maxTokens: 1 }),
    ruleOf('user_path', '/a', minute, { maxRequests: 1 }),
    ruleOf('user_path', '/a/b', minute, { maxRequests: 5 }),
  );
  ask(limiter, '/a/b');
  limiter.charge(limiter.forUserPath('/'), 1, start);
  ask(limiter, '/a/b');
  const refusals = limiter.decisions().filter(({ outcome }) => outcome === 'reject');
  const [root, team] = limiter.rules();
  t.same(
    refusals.map(({ rule, dimension, count }) => [rule, dimension, count]),
    [
      [root?.id, 'requests', 1],
      [root?.id, 'tokens', 1],
      [team?.id, 'requests', 1],
    ],
  );
});

await test('decisions only grow while a rule exists, resets included', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/', minute, { maxRequests: 1 }));
  admitted(limiter, '/', 3);
  limiter.reconcile([ruleOf('user_path', '/', minute, { maxRequests: 1, epoch: 5 })]);
  admitted(limiter, '/', 3);
  t.same(decided(limiter), { 'requests allow': 2, 'requests reject': 4 });
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

await test('a refund from before a reset is no news of the counters after it', async (t) => {
  const rule = ruleOf('user_path', '/', minute, { maxRequests: 2 });
  const limiter = limiterOf(rule);
  const held = lease(limiter, '/');
  limiter.reconcile([{ ...rule, epoch: 1 }]);
  ask(limiter, '/');
  t.match(limiter.exportChanged(), [{ epoch: 1, requests: [[start / 1_000, 1]] }]);
  held.refund(start);
  t.same(limiter.exportChanged(), []);
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
  const rows = JSON.parse(JSON.stringify(limiter.exportChanged())) as CounterRow[];
  const next = limiterOf(...rules);
  t.equal(next.restore(rows, start + 25_000), 2);
  const before = limiter.report(path, start + 25_000);
  t.same(
    next.report(next.forUserPath('/c/x'), start + 25_000),
    before.map((report) => ({ ...report, inFlight: 0, ...(report.inFlight > 0 ? { requestsRemaining: 5 } : {}) })),
  );
  t.same(next.exportChanged(), [], 'what was read need not be written');
});

await test('after a crash every window is what was flushed last, and nothing is in flight', async (t) => {
  const rules = [ruleOf('user_path', '/', minute, { maxRequests: 9 }), ruleOf('user_path', '/', 0, { maxRequests: 9 })];
  const limiter = limiterOf(...rules);
  ask(limiter, '/');
  ask(limiter, '/');
  const flushed = limiter.exportChanged();
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
  t.same(limiter.exportChanged(), []);
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
    [10, 10, 10, 10].map((limit) => limiter.exportChanged(limit).length),
    [10, 10, 5, 0],
  );
  ask(limiter, '/c/3');
  t.same(limiter.exportChanged(), [
    { key: rules[1]?.key, epoch: 0, child: '/c/3', periodSeconds: 60, requests: [[start / 1_000, 2]], tokens: [] },
  ]);
  const held = lease(limiter, '/c/30');
  held.refund(start);
  t.match(limiter.exportChanged(), [{ child: '/c/30', requests: [] }], 'a counter that is empty again says so');
  t.same(limiter.exportRemoved(), []);
  ask(limiter, '/c/4');
  limiter.reconcile([ruleOf('user_path', '/c', minute, { maxRequests: 9, perChild: true, epoch: 1 })]);
  t.same(limiter.exportChanged(), [], 'what was dropped is not exported');
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
  const rows = before.exportChanged();
  future.restore(rows, start - 7_200_000);
  const { rejection } = future.admit(future.forUserPath('/'), start - 7_200_000, 'reject');
  t.equal(rejection?.retryAfterSeconds, 61, 'counts as now');
  t.equal(future.exportChanged().length, 1, 'and is stored as that');
  const past = limiterOf(rule);
  past.restore(rows, start + 365 * 86_400_000);
  t.same(used(past, '/', start + 365 * 86_400_000), [0]);
});

await test('a child with unexported changes waits for the export', async (t) => {
  const limiter = limiterOf(ruleOf('user_path', '/c', minute, { maxRequests: 9, perChild: true }));
  const held = lease(limiter, '/c/a');
  t.match(limiter.exportChanged(), [{ requests: [[start / 1_000, 1]] }]);
  held.refund(start);
  t.equal(limiter.sweep(start), 0, 'the stored row still says one');
  t.match(limiter.exportChanged(), [{ requests: [] }]);
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
  limiter.exportChanged();
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
  const children = 40_000;
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
  while (limiter.exportChanged(1_000).length > 0);
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
  limiter.exportChanged();
  t.equal(limiter.sweep(later), 1);
  t.ok(limiter.admit(first, later, 'reject').lease);
  old?.refund(later);
  t.ok(limiter.admit(second, later, 'reject').lease);
  t.ok(limiter.admit(first, later, 'reject').rejection);
  t.ok(limiter.admit(second, later, 'reject').rejection);
  t.equal(limiter.size, 1);
});

await test('the sweep survives reloads', async (t) => {
  const template = ruleOf('user_path', '/c', minute, { maxRequests: 2, perChild: true });
  const limiter = limiterOf(template);
  for (let index = 0; index < 50; index += 1) ask(limiter, `/c/${index}`);
  limiter.sweep(start, 10);
  limiter.reconcile([]);
  limiter.reconcile([template, ruleOf('user_path', '/d', minute, { maxRequests: 2, perChild: true })]);
  for (let index = 0; index < 50; index += 1) ask(limiter, `/d/${index}`);
  limiter.exportChanged();
  for (let round = 0; round < 20; round += 1) limiter.sweep(start + 61_000, 10);
  t.equal(limiter.size, 0);
});

await test('what was exported is exported again when the store has lost it', async (t) => {
  const limiter = createLimiter();
  const window = ruleOf('user_path', '/team', 60, { maxRequests: 5 });
  limiter.reconcile([window, ruleOf('user_path', '/team', 0, { maxRequests: 2 })]);
  limiter.admit(limiter.forUserPath('/team'), 1_800_000_000_000);
  const [row] = limiter.exportChanged();
  t.match(row, { key: window.key });
  t.same(limiter.exportChanged(), []);
  limiter.exportAgain();
  t.same(limiter.exportChanged(), [row], 'once, and no gauge');
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
  const row = limiter.exportChanged();

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
  const rows = limiter.exportChanged();
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
  limiter.exportChanged();
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
  limiter.exportChanged();
  t.equal(limiter.sweep(start + 61_000), long + 1);
  for (let index = 0; index < 500; index += 1) ask(limiter, `/d/${index}`, start + 61_000);
  t.ok(limiter.size > 70, `${limiter.size} counters with short names`);
});
