// What the limiter promises about rules, one claim per test: which of them match, what an edit or a reset keeps, what a shadow counts.

import { test } from 'tap';
import type { Rule } from '../../../domain/rules/rule.ts';
import { isWithin, normaliseUserPath } from '../../../domain/user-path.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { exported } from '../../support/counter-rows.ts';
import { admitted, ask, decided, everyRow, inFlight, lease, limiterOf, minute, start, used } from './limiter-calls.ts';
import { ruleOf } from './rule-of.ts';

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
  const live = atOnce(limiter.live(start));
  t.same(live.counters, [], 'a template has no figures as a whole');
  t.same(
    live.refused.map(([, count]) => count),
    [5],
    'but what it has refused',
  );
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
  t.equal(ask(limiter, '/TEAM/x'), false, 'in any letter case');
  const beside = ['/team-alpha', '/teams', '/', '/tea'];
  t.same(
    beside.filter((path) => admitted(limiter, path, 4) !== 4),
    [],
    'none of these is limited',
  );
});

await test('a normalised path stays what it is, and matches what it matched', async (t) => {
  const changed = ['team//app/', ' /team / app', '/team/app', '//'].filter((written) => {
    const once = normaliseUserPath(written).path ?? '';
    return normaliseUserPath(once).path !== once || !isWithin(once, '/');
  });
  t.same(changed, []);
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
  t.same(exported(limiter)[0]?.tokens, [[later / 1_000, 40]], 'in the slice of completion');
  limiter.reconcile([]);
  limiter.charge(path, 40, later);
  t.same(exported(limiter), []);
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

await test('a refund from before a reset is no news of the counters after it', async (t) => {
  const rule = ruleOf('user_path', '/', minute, { maxRequests: 2 });
  const limiter = limiterOf(rule);
  const held = lease(limiter, '/');
  limiter.reconcile([{ ...rule, epoch: 1 }]);
  ask(limiter, '/');
  t.match(exported(limiter), [{ epoch: 1, requests: [[start / 1_000, 1]] }]);
  held.refund(start);
  t.same(exported(limiter), []);
});

await test('a rule that refuses calls of a model says of which providers the model must be known', (t) => {
  const rows: readonly (readonly [rules: Rule[], providers: string])[] = [
    [[], ''],
    [[ruleOf('provider', 'one', minute, { maxRequests: 1 })], ''],
    [[ruleOf('model', 'One/m', minute, { maxRequests: 1 })], 'one'],
    [[ruleOf('model', 'm', minute, { maxTokens: 1 })], 'one two'],
    [[ruleOf('model', 'one/m', minute, { maxRequests: 1, mode: 'shadow' })], ''],
  ];
  const limiter = limiterOf();
  for (const [rules, providers] of rows) {
    limiter.reconcile(rules);
    const limited = ['one', 'two'].filter((provider) => limiter.limitsModelsOf(provider));
    t.equal(limited.join(' '), providers, rules[0]?.subject ?? 'no rule');
  }
  limiter.reconcile(rows[2]?.[0] ?? [], { isEnforced: false });
  t.equal(limiter.limitsModelsOf('one'), false, 'rate limits are switched off');
  t.end();
});
